// Reshardings that really move: ranks are threads, and each rank's shard is compared with what it should hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "infinirt.h"
#include "plan/reshard/random_reshard_test.h"
#include "plan/reshard/reshard_text.h"
#include "tests/ranks/in_process_transport.h"
#include "tests/ranks/on_ranks.h"

namespace infini {
namespace {

using namespace reshard_test;
using test::InProcessNetwork;
using test::on_ranks;
using test::Outcome;

infiniReshardPlan_t plan_of_text(const std::string& text) {
  infiniReshardPlan_t plan = nullptr;
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniReshardCreatePlan(&plan, text.c_str()))
      << infiniGetLastErrorString();
  return plan;
}

infiniReshardOptions_t options_of(size_t piece, size_t staging, double timeout) {
  infiniReshardOptions_t options{};
  options.size = sizeof options;
  options.piece_bytes = piece;
  options.staging_bytes = staging;
  options.timeout = timeout;
  return options;
}

// The shards in memory with gaps: every element at twice its place, so that nothing lies together.
std::vector<int32_t> spread(const std::vector<int32_t>& dense) {
  std::vector<int32_t> out(2 * dense.size() + 1, -7);
  for (size_t i = 0; i < dense.size(); ++i) out[2 * i] = dense[i];
  return out;
}
std::vector<ptrdiff_t> spread_strides(const std::vector<int64_t>& shape) {
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t stride = 2;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<ptrdiff_t>(shape[i], 1);
  }
  return strides;
}

// Some ranks of a machine share memory, and some do not: by the bits of `here`.
struct Sharing {
  size_t bytes = 0;  // 0: nobody shares any
  unsigned here = ~0u;
};

void check_run(const ReshardPlan& plan, size_t piece, size_t staging, bool strided,
               const Sharing& sharing = {}) {
  const Side source(plan.source().distribution()), destination(plan.destination().distribution());
  const Ranks all = shards_of(plan, source, destination);
  const infiniReshardPlan_t handle = plan_of_text(to_text(plan));
  InProcessNetwork network(plan.ranks());
  if (sharing.bytes > 0) {
    std::vector<bool> here;
    for (int rank = 0; rank < plan.ranks(); ++rank) here.push_back(sharing.here >> rank % 32 & 1);
    network.share(sharing.bytes, here);
  }
  const auto options = options_of(piece, staging, 20);
  std::vector<std::vector<int32_t>> got(all.dst.size());
  const auto outcomes = on_ranks(plan.ranks(), [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    const auto src = strided ? spread(all.src[r]) : all.src[r];
    got[r] = std::vector<int32_t>(strided ? 2 * all.dst[r].size() + 1 : all.dst[r].size(), -7);
    const auto dst_strides = spread_strides(plan.dst_shape(rank));
    const auto src_strides = spread_strides(plan.src_shape(rank));
    const infiniTransport_t transport = network.transport_of(rank);
    const auto move = [&] {
      return infiniReshard(handle, got[r].data(), strided ? dst_strides.data() : nullptr,
                           src.data(), strided ? src_strides.data() : nullptr, &transport,
                           &options);
    };
    // Shared memory goes on from run to run.
    if (sharing.bytes > 0 && move() != INFINI_STATUS_SUCCESS) return INFINI_STATUS_INTERNAL_ERROR;
    return move();
  });
  for (size_t r = 0; r < outcomes.size(); ++r) {
    ASSERT_EQ(INFINI_STATUS_SUCCESS, outcomes[r].status) << outcomes[r].words;
    ASSERT_EQ(got[r], strided ? spread(all.dst[r]) : all.dst[r]) << "rank " << r;
  }
  infiniReshardDestroyPlan(handle);
}

TEST(ReshardRun, RandomPairsArrive) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int count = wished != nullptr ? std::atoi(wished) : 400;
  constexpr size_t pieces[] = {4, 12, 64, 1 << 20}, stagings[] = {1, 256, 1 << 24};
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 104729 + 5));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    if (plan.ranks() > 16) continue;
    check_run(plan, pieces[i % 4], stagings[i % 3], i % 2 == 0);
    if (HasFatalFailure()) {
      ADD_FAILURE() << "pair " << i << ": " << to_text(plan);
      return;
    }
  }
}

TEST(ReshardRun, LargeOnesGoInPieces) {
  check_run(parse_reshard("i32 1000x1003 (4: block,replicate) -> perm=1,0 (4: block,replicate)"),
            64 << 10, 256 << 10, false);
  check_run(parse_reshard("i32 1000x1003 (2x2: cyclic:7,cyclic:5) -> (4: replicate,block)"),
            100 << 10, 1, false);
}

TEST(ReshardRun, RandomPairsArriveThroughSharedMemory) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int count = wished != nullptr ? std::atoi(wished) : 200;
  constexpr size_t sizes[] = {100, 80 << 10,
                              1 << 20};  // too little for anything, just enough, ample
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 15485863 + 11));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    if (plan.ranks() > 16) continue;
    const auto here = static_cast<unsigned>(random()) | 1;
    check_run(plan, 64, 1 << 24, i % 2 == 0, {sizes[i % 3], i % 4 == 0 ? ~0u : here});
    if (HasFatalFailure()) {
      ADD_FAILURE() << "pair " << i << ": " << to_text(plan);
      return;
    }
  }
}

TEST(ReshardRun, LargeOnesGoThroughLittleSharedMemory) {
  check_run(parse_reshard("i32 1000x1003 (4: block,replicate) -> perm=1,0 (4: block,replicate)"),
            64 << 10, 256 << 10, false, {32 << 10});
  check_run(parse_reshard("i32 1000x1003 (2x2: cyclic:7,cyclic:5) -> (4: replicate,block)"),
            100 << 10, 1, false, {128 << 10, 0b1011});
}

// What joint pieces are made of, and what just is not: one and several numbers of pieces, more runs than one go with another.
TEST(ReshardRun, ColumnsOfManyBecomeRows) {
  for (const char* text :
       {"i32 4000x32 (4: replicate,block) -> (4: block,replicate)",
        "i32 401x32 (4: replicate,block) -> (4: block,replicate)",
        "i32 400x30 (4: replicate,block) -> (4: block,replicate)",
        "i32 400x4 (4 ranks 3,2,1,0: replicate,block) -> (4: block,replicate)",
        "i32 400x64 (8: replicate,cyclic:2) -> (8: block,replicate)",
        "i32 6x40x48 (2x4: block,replicate,block) -> (2x4: block,block,replicate)",
        "i32 64x400 (4: block,replicate) -> perm=1,0 (4: block,replicate)",
        "i32 400x24 (2x3: replicate,block@1) -> (2x3: block@0+1,replicate)"})
    for (const size_t bytes : {16 << 10, 256 << 10}) {
      check_run(parse_reshard(text), 4096, 1 << 24, false, {bytes});
      check_run(parse_reshard(text), 4096, 1 << 24, true, {bytes});
      if (HasFatalFailure()) FAIL() << text << ", " << bytes << " bytes";
    }
}

class ReshardFaults : public testing::Test {
 protected:
  static constexpr int ranks = 4;
  ~ReshardFaults() override { infiniReshardDestroyPlan(plan_); }

  infiniStatus_t reshard(int rank, infiniReshardPlan_t plan) {
    std::vector<int32_t> src(64 * 16), dst(64 * 16);
    const infiniTransport_t transport = network_.transport_of(rank);
    const auto options = options_of(256, 1 << 20, 0.2);
    return infiniReshard(plan, dst.data(), nullptr, src.data(), nullptr, &transport, &options);
  }
  void expect_all_fail(const std::vector<Outcome>& outcomes, int except = -1) {
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != except) {
        EXPECT_NE(INFINI_STATUS_SUCCESS, outcomes[static_cast<size_t>(rank)].status) << rank;
        EXPECT_NE(outcomes[static_cast<size_t>(rank)].words.find("incomplete"), std::string::npos);
      }
  }

  infiniReshardPlan_t plan_ =
      plan_of_text("i32 64x64 (4: block,replicate) -> (4: replicate,block)");
  InProcessNetwork network_{ranks};
};

TEST_F(ReshardFaults, EveryLostMessageIsTold) {
  for (int send = 0; send < 14; ++send) {
    InProcessNetwork network(ranks);
    network.fault = InProcessNetwork::Fault::lost;
    network.faulty_rank = send % ranks;
    network.faulty_send = send;
    std::vector<Outcome> outcomes = on_ranks(ranks, [&](int rank) {
      std::vector<int32_t> src(64 * 16), dst(64 * 16);
      const infiniTransport_t transport = network.transport_of(rank);
      const auto options = options_of(256, 1 << 20, 0.05);
      return infiniReshard(plan_, dst.data(), nullptr, src.data(), nullptr, &transport, &options);
    });
    expect_all_fail(outcomes);
  }
}

TEST_F(ReshardFaults, AShortMessageIsTold) {
  network_.fault = InProcessNetwork::Fault::shortened;
  network_.faulty_send = 3;
  const auto outcomes = on_ranks(ranks, [&](int rank) { return reshard(rank, plan_); });
  expect_all_fail(outcomes);
  bool told = false;
  for (const Outcome& one : outcomes)
    told = told || one.words.find("bytes where") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST_F(ReshardFaults, ATransportsErrorIsToldInItsWords) {
  network_.fault = InProcessNetwork::Fault::refused;
  network_.faulty_send = 2;
  const auto outcomes = on_ranks(ranks, [&](int rank) { return reshard(rank, plan_); });
  expect_all_fail(outcomes);
  EXPECT_NE(outcomes[0].words.find("the cable was cut"), std::string::npos) << outcomes[0].words;
}

TEST_F(ReshardFaults, AMissingRankIsTold) {
  const auto outcomes = on_ranks(
      ranks, [&](int rank) { return rank == 2 ? INFINI_STATUS_SUCCESS : reshard(rank, plan_); });
  expect_all_fail(outcomes, 2);
}

TEST_F(ReshardFaults, AMissingRankIsToldWhereMemoryIsShared) {
  network_.share(64 << 10, std::vector<bool>(ranks, true));
  const auto outcomes = on_ranks(
      ranks, [&](int rank) { return rank == 2 ? INFINI_STATUS_SUCCESS : reshard(rank, plan_); });
  expect_all_fail(outcomes, 2);
  EXPECT_NE(outcomes[0].words.find("rank 2"), std::string::npos) << outcomes[0].words;
}

TEST_F(ReshardFaults, SharedMemoryThatHoldsSomethingElseIsTold) {
  network_.share(64 << 10, std::vector<bool>(ranks, true));
  network_.shared_part(1)[0] =
      1;  // as if rank 1, which does not come, had filled a piece for rank 0
  const auto outcomes = on_ranks(
      ranks, [&](int rank) { return rank == 1 ? INFINI_STATUS_SUCCESS : reshard(rank, plan_); });
  expect_all_fail(outcomes, 1);
  EXPECT_NE(outcomes[0].words.find("something else"), std::string::npos) << outcomes[0].words;
}

TEST_F(ReshardFaults, AnotherPlanIsToldWhereMemoryIsShared) {
  network_.share(64 << 10, std::vector<bool>(ranks, true));
  const infiniReshardPlan_t other =
      plan_of_text("i32 64x64 (4: block,replicate) -> (4: replicate,cyclic:1)");
  const auto outcomes =
      on_ranks(ranks, [&](int rank) { return reshard(rank, rank == 1 ? other : plan_); });
  expect_all_fail(outcomes);
  infiniReshardDestroyPlan(other);
}

TEST_F(ReshardFaults, AnotherPlanIsTold) {
  const infiniReshardPlan_t other =
      plan_of_text("i32 64x64 (4: block,replicate) -> (4: replicate,cyclic:1)");
  const auto outcomes =
      on_ranks(ranks, [&](int rank) { return reshard(rank, rank == 1 ? other : plan_); });
  expect_all_fail(outcomes);
  bool told = false;
  for (const Outcome& one : outcomes)
    told = told || one.words.find("another plan") != std::string::npos;
  EXPECT_TRUE(told);
  infiniReshardDestroyPlan(other);
}

TEST_F(ReshardFaults, ARankThatDoesNotExchangeKnowsToo) {
  // Rank 3 keeps what it has; rank 0 gives no memory.
  const infiniReshardPlan_t plan =
      plan_of_text("i32 64 (4: sizes:16/16/16/16) -> (4: sizes:8/24/16/16)");
  const auto outcomes = on_ranks(ranks, [&](int rank) {
    std::vector<int32_t> src(16), dst(24);
    const infiniTransport_t transport = network_.transport_of(rank);
    const auto options = options_of(256, 1 << 20, 0.2);
    return infiniReshard(plan, rank == 0 ? nullptr : dst.data(), nullptr, src.data(), nullptr,
                         &transport, &options);
  });
  expect_all_fail(outcomes);
  EXPECT_NE(outcomes[0].words.find("dst is NULL"), std::string::npos) << outcomes[0].words;
  infiniReshardDestroyPlan(plan);
}

TEST(ReshardApi, BadArgumentsAreAnswered) {
  const infiniReshardPlan_t plan =
      plan_of_text("f32 8x8 (2: block,replicate) -> (2: replicate,block)");
  InProcessNetwork network(1);
  infiniTransport_t transport = network.transport_of(0);
  const auto run = [&](const infiniReshardOptions_t* options) {
    return infiniReshard(plan, &transport, nullptr, &transport, nullptr, &transport, options);
  };
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run(nullptr));  // one rank, the plan has two
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniReshard(plan, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  auto options = options_of(0, 0, -1);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run(&options));
  options = options_of(size_t{1} << 31, 0, 0);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run(&options));
  transport.wait_any = nullptr;
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, run(nullptr));
  transport.size = 4;
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run(nullptr));
  size_t shape[2];
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniReshardGetShapes(plan, 2, shape, nullptr));
  infiniReshardDestroyPlan(plan);
}

TEST(ReshardApi, PlansTellShapesAndTraffic) {
  const size_t shape[] = {6, 4};
  const int order[] = {1, 0};
  infiniReshardPlan_t plan = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniReshardCreatePlanOf(&plan, INFINI_DTYPE_F16, 2, shape, "(2: block,replicate)",
                                      "(3: block,replicate)", order))
      << infiniGetLastErrorString();
  size_t ndim = 0, dst[2], src[2], sends = 0, sent = 0, local = 0;
  int ranks = 0;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniReshardGetSize(plan, nullptr, &ndim, &ranks));
  EXPECT_EQ(2u, ndim);
  EXPECT_EQ(3, ranks);
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniReshardGetShapes(plan, 1, dst, src));
  EXPECT_EQ(2u, dst[0]);
  EXPECT_EQ(6u, dst[1]);
  EXPECT_EQ(2u, src[0]);
  EXPECT_EQ(4u, src[1]);
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniReshardGetTraffic(plan, 1, &sends, &sent, nullptr, nullptr, &local));
  EXPECT_EQ(1u, sends);
  EXPECT_EQ(8u, sent);   // two rows by two columns of f16 go to rank 0
  EXPECT_EQ(8u, local);  // and as many stay
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniReshardDestroyPlan(plan));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniReshardDestroyPlan(plan));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniReshardCreatePlan(&plan, "f32 8 (2: blokc) -> (2: block)"));
  EXPECT_EQ(nullptr, plan);
}

}  // namespace
}  // namespace infini
