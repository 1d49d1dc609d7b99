// Reshardings that fail: every rank is told, whatever went wrong and wherever. And calls that make no sense.
#include <gtest/gtest.h>

#include "tests/ranks/in_process_transport.h"
#include "tests/ranks/on_ranks.h"
#include "tests/ranks/reshard_calls.h"

namespace infini {
namespace {

using test::InProcessNetwork;
using test::on_ranks;
using test::options_of;
using test::Outcome;
using test::plan_of_text;

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

// Else a rank would take pieces of the run that failed for those of the next one.
TEST_F(ReshardFaults, WhatAFailedRunLeftInSharedMemoryIsNotTakenForAnother) {
  network_.share(64 << 10, std::vector<bool>(ranks, true));
  const auto run = [&](bool well) {
    return on_ranks(ranks, [&, well](int rank) {
      const std::vector<int32_t> src(64 * 16, well ? 2 : 1);
      std::vector<int32_t> dst(64 * 16);
      const infiniTransport_t transport = network_.transport_of(rank);
      const auto options = options_of(256, 1 << 20, 0.2);
      return infiniReshard(plan_, well || rank != 0 ? dst.data() : nullptr, nullptr, src.data(),
                           nullptr, &transport, &options);
    });
  };
  expect_all_fail(run(false));
  const auto again = run(true);
  expect_all_fail(again);
  EXPECT_NE(again[1].words.find("an earlier run"), std::string::npos) << again[1].words;
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
  InProcessNetwork two(2);
  two.share(1 << 16, {true, true});
  transport = two.transport_of(0);
  std::vector<void*> parts = {two.shared_part(0), two.shared_part(1) + 8};
  transport.shared = parts.data();
  options = options_of(0, 0, 0.05);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run(&options));
  EXPECT_NE(std::string(infiniGetLastErrorString()).find("64 bytes"), std::string::npos);
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
