// Reshardings over a transport that has rounds: what arrives, and that every rank is told what fails.
#include <cstdlib>

#include "tests/ranks/check_run.h"

namespace infini {
namespace {

using namespace reshard_test;
using test::check_run;
using test::InProcessNetwork;
using test::on_ranks;
using test::options_of;
using test::Outcome;
using test::plan_of_text;

constexpr test::Sharing by_rounds{.rounds = true};

TEST(ReshardRounds, RandomPairsArrive) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int count = wished != nullptr ? std::atoi(wished) : 200;
  constexpr size_t pieces[] = {4, 12, 64, 1 << 20};
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 86028121 + 3));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    if (plan.ranks() > 16) continue;
    check_run(plan, pieces[i % 4], 1 << 20, i % 2 == 0, by_rounds);
    if (testing::Test::HasFatalFailure()) FAIL() << "pair " << i << ": " << to_text(plan);
  }
}

TEST(ReshardRounds, LargeOnesGoInPieces) {
  for (const size_t piece : {0, 64 << 10})
    for (const size_t staging : {1, 1 << 24})  // by which pieces are found where none are given
      check_run(
          parse_reshard("i32 1000x1003 (4: block,replicate) -> perm=1,0 (4: block,replicate)"),
          piece, staging, false, by_rounds);
  check_run(parse_reshard("i32 1000x1003 (2x2: cyclic:7,cyclic:5) -> (4: replicate,block)"),
            100 << 10, 1 << 20, true, by_rounds);
}

// Two pieces of each of three lanes, sent and received: by what is asked for, or less.
TEST(ReshardRounds, StagingIsBounded) {
  const infiniReshardPlan_t plan =
      plan_of_text("i32 1000x1003 (4: block,replicate) -> perm=1,0 (4: block,replicate)");
  for (const size_t staging : {size_t{1}, size_t{1} << 17, size_t{1} << 30}) {
    InProcessNetwork network(4);
    network.rounds = true;
    const auto outcomes = on_ranks(4, [&](int rank) {
      const std::vector<int32_t> src(250 * 1003);
      std::vector<int32_t> dst(251 * 1000);
      const infiniTransport_t transport = network.transport_of(rank);
      const auto options = options_of(100 << 10, staging, 20);
      return infiniReshard(plan, dst.data(), nullptr, src.data(), nullptr, &transport, &options);
    });
    for (const Outcome& one : outcomes) EXPECT_EQ(INFINI_STATUS_SUCCESS, one.status) << one.words;
    const size_t most = std::min<size_t>(100 << 10, std::max<size_t>(staging / 12, 4 << 10));
    EXPECT_LE(network.longest_transfer, most);
    EXPECT_GT(network.longest_transfer, most / 2);
  }
  infiniReshardDestroyPlan(plan);
}

class ReshardRoundsFaults : public testing::Test {
 protected:
  static constexpr int ranks = 4;
  ReshardRoundsFaults() { network_.rounds = true; }
  ~ReshardRoundsFaults() override { infiniReshardDestroyPlan(plan_); }

  infiniStatus_t reshard(InProcessNetwork& network, int rank, infiniReshardPlan_t plan,
                         size_t piece = 256, double timeout = 0.2, bool with_dst = true) {
    std::vector<int32_t> src(64 * 16), dst(64 * 16);
    const infiniTransport_t transport = network.transport_of(rank);
    const auto options = options_of(piece, 1 << 20, timeout);
    return infiniReshard(plan, with_dst ? dst.data() : nullptr, nullptr, src.data(), nullptr,
                         &transport, &options);
  }
  // How many say `words`.
  static int expect_all_fail(const std::vector<Outcome>& outcomes, const char* words,
                             int except = -1) {
    int said = 0;
    for (int rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
      const Outcome& one = outcomes[static_cast<size_t>(rank)];
      if (rank == except) continue;
      EXPECT_NE(INFINI_STATUS_SUCCESS, one.status) << rank;
      EXPECT_TRUE(one.words.find("incomplete") != std::string::npos ||
                  one.words.find("as it was") != std::string::npos ||
                  one.words.find("NULL") != std::string::npos)
          << one.words;
      said += one.words.find(words) != std::string::npos;
    }
    return said;
  }

  infiniReshardPlan_t plan_ =
      plan_of_text("i32 64x64 (4: block,replicate) -> (4: replicate,block)");
  InProcessNetwork network_{ranks};
};

// Two of them agree before, twelve carry pieces; of those that agree after, the last is missed by its receiver alone.
TEST_F(ReshardRoundsFaults, EveryLostMessageIsTold) {
  for (int send = 0; send < 14; ++send) {
    InProcessNetwork network(ranks);
    network.rounds = true;
    network.fault = InProcessNetwork::Fault::lost;
    network.faulty_rank = send % ranks;
    network.faulty_send = send;
    const auto outcomes =
        on_ranks(ranks, [&](int rank) { return reshard(network, rank, plan_, 256, 0.05); });
    expect_all_fail(outcomes, "");
  }
}

TEST_F(ReshardRoundsFaults, AShortMessageIsTold) {
  network_.fault = InProcessNetwork::Fault::shortened;
  network_.faulty_send = 5;
  const auto outcomes = on_ranks(ranks, [&](int rank) { return reshard(network_, rank, plan_); });
  EXPECT_EQ(1, expect_all_fail(outcomes, "is short"));
}

TEST_F(ReshardRoundsFaults, ATransportsErrorIsToldInItsWords) {
  network_.fault = InProcessNetwork::Fault::refused;
  network_.faulty_send = 4;
  const auto outcomes = on_ranks(ranks, [&](int rank) { return reshard(network_, rank, plan_); });
  EXPECT_EQ(1, expect_all_fail(outcomes, "the cable was cut"));
}

TEST_F(ReshardRoundsFaults, AMissingRankIsTold) {
  const auto outcomes = on_ranks(ranks, [&](int rank) {
    return rank == 2 ? INFINI_STATUS_SUCCESS : reshard(network_, rank, plan_);
  });
  EXPECT_LE(1, expect_all_fail(outcomes, "rank 2", 2));
}

TEST_F(ReshardRoundsFaults, AnotherPlanIsToldBeforeAnythingMoves) {
  const infiniReshardPlan_t other =
      plan_of_text("i32 64x64 (4: block,replicate) -> (4: replicate,cyclic:1)");
  const auto outcomes =
      on_ranks(ranks, [&](int rank) { return reshard(network_, rank, rank == 1 ? other : plan_); });
  EXPECT_EQ(ranks, expect_all_fail(outcomes, "dst is as it was"));
  EXPECT_EQ(ranks, expect_all_fail(outcomes, " plan"));
  infiniReshardDestroyPlan(other);
}

TEST_F(ReshardRoundsFaults, OtherPiecesAreToldBeforeAnythingMoves) {
  const auto outcomes = on_ranks(
      ranks, [&](int rank) { return reshard(network_, rank, plan_, rank == 3 ? 512 : 256); });
  EXPECT_EQ(ranks, expect_all_fail(outcomes, "dst is as it was"));
}

TEST_F(ReshardRoundsFaults, OtherStagingIsToldBeforeAnythingMoves) {
  const auto outcomes = on_ranks(ranks, [&](int rank) {
    const std::vector<int32_t> src(64 * 16);
    std::vector<int32_t> dst(64 * 16);
    const infiniTransport_t transport = network_.transport_of(rank);
    const auto options = options_of(0, rank == 3 ? 1 << 20 : 1 << 21, 0.2);
    return infiniReshard(plan_, dst.data(), nullptr, src.data(), nullptr, &transport, &options);
  });
  EXPECT_EQ(ranks, expect_all_fail(outcomes, "dst is as it was"));
}

TEST_F(ReshardRoundsFaults, MissingMemoryIsToldBeforeAnythingMoves) {
  const auto outcomes = on_ranks(
      ranks, [&](int rank) { return reshard(network_, rank, plan_, 256, 0.2, rank != 0); });
  EXPECT_EQ(ranks - 1, expect_all_fail(outcomes, "dst is as it was"));
  EXPECT_NE(outcomes[0].words.find("dst is NULL"), std::string::npos) << outcomes[0].words;
}

TEST_F(ReshardRoundsFaults, HalfATableIsRefused) {
  infiniTransport_t transport = network_.transport_of(0);
  transport.end_round = nullptr;
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniReshard(plan_, nullptr, nullptr, nullptr, nullptr, &transport, nullptr));
}

}  // namespace
}  // namespace infini
