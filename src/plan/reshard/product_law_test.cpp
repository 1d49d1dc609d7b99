// The laws of product plans, by brute force over random ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/dtype.h"
#include "plan/reshard/random_product_test.h"
#include "plan/reshard/reshard_text.h"

namespace infini {
namespace {

using namespace reshard_test;

using Mail = std::tuple<int, Factor, int>;  // step of the receiver, factor, panel

struct Law {
  explicit Law(const ProductPlan& product)
      : plan(product),
        c(product.c().distribution()),
        a(product.a().distribution()),
        b(product.b().distribution()) {}

  // Whether `rank` holds these parts of a side.
  static bool holds(const Side& side, int rank, int first, int second) {
    const int place = place_of(side, rank);
    return place >= 0 && side.part(place, 0) == first && side.part(place, 1) == second;
  }
  void check_step(int rank, int rows, int columns, size_t number, const ProductStep& step) {
    const Panel& panel = plan.panels()[static_cast<size_t>(step.panel)];
    ASSERT_TRUE(holds(a, step.a_from, rows, panel.a_part));
    ASSERT_TRUE(holds(b, step.b_from, panel.b_part, columns));
    ASSERT_EQ(step.a_from == rank, holds(a, rank, rows, panel.a_part)) << "what is here travels";
    ASSERT_EQ(step.b_from == rank, holds(b, rank, panel.b_part, columns)) << "what is here travels";
    const auto& of_a = a.indexes[1][static_cast<size_t>(panel.a_part)];
    const auto& of_b = b.indexes[0][static_cast<size_t>(panel.b_part)];
    int64_t count = 0;
    for (size_t i = 0; i < panel.runs; ++i) {
      const KRun& run = plan.runs_of(panel)[i];
      for (int64_t j = 0; j < run.count; ++j, ++count) {
        const int64_t k = of_a.at(static_cast<size_t>(run.a + j));
        ASSERT_EQ(k, of_b.at(static_cast<size_t>(run.b + j)));
        ++seen[static_cast<size_t>(k)];
      }
    }
    ASSERT_EQ(count, panel.k);
    ASSERT_LE(count, plan.panel());
    const int at = static_cast<int>(number);
    if (step.a_from != rank) expected[{step.a_from, rank}].emplace_back(at, Factor::a, step.panel);
    if (step.b_from != rank) expected[{step.b_from, rank}].emplace_back(at, Factor::b, step.panel);
  }
  void check_rank(int rank) {
    const RankProduct own = plan.plan_of(rank);
    const int place = place_of(c, rank);
    const auto shape = plan.c_shape(rank);
    seen.assign(static_cast<size_t>(a.d.shape[1]), 0);
    for (size_t i = 0; i < own.steps.size(); ++i) {
      check_step(rank, c.part(place, 0), c.part(place, 1), i, own.steps[i]);
      if (testing::Test::HasFatalFailure()) return;
    }
    for (const int times : seen) ASSERT_EQ(times, shape[0] * shape[1] > 0 ? 1 : 0);
    for (const ProductSend& send : own.sends) {
      sent[{rank, send.peer}].emplace_back(send.step, send.factor, send.panel);
      sent_bytes += plan.bytes_of(send);
    }
    if (shape[0] * shape[1] == 0) return;
    // The fewest bytes: all of k that the rank does not hold.
    int64_t of_a = a.d.shape[1], of_b = of_a;
    const int at_a = place_of(a, rank), at_b = place_of(b, rank);
    if (at_a >= 0 && a.part(at_a, 0) == c.part(place, 0))
      of_a -= static_cast<int64_t>(a.indexes[1][static_cast<size_t>(a.part(at_a, 1))].size());
    if (at_b >= 0 && b.part(at_b, 1) == c.part(place, 1))
      of_b -= static_cast<int64_t>(b.indexes[0][static_cast<size_t>(b.part(at_b, 0))].size());
    const int64_t fewest = (of_a * shape[0] + of_b * shape[1]) * dtype_bytes(plan.dtype());
    ASSERT_EQ(traffic_of(plan, rank).received_bytes, fewest);
    wire_bytes += fewest;
  }
  void check() {
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      check_rank(rank);
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(expected, sent) << "between two ranks, in order";
    ASSERT_EQ(wire_bytes, sent_bytes);
  }

  const ProductPlan& plan;
  Side c, a, b;
  std::vector<int> seen;
  std::map<std::pair<int, int>, std::vector<Mail>> expected, sent;
  int64_t wire_bytes = 0, sent_bytes = 0;
};

TEST(ProductPlan, LawsHoldForRandomProducts) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int count = wished != nullptr ? std::atoi(wished) : 5000;
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 7919 + 11));
    random.discard(3);
    const ProductPlan plan = random_product(random, INFINI_DTYPE_F32, 24);
    Law law(plan);
    law.check();
    ASSERT_EQ(parse_product(to_text(plan)).hash(), plan.hash());
    if (HasFatalFailure()) {
      ADD_FAILURE() << "product " << i << ": " << to_text(plan);
      return;
    }
  }
}

TEST(ProductPlan, AGridOfBlocksIsSumma) {
  const ProductPlan plan = parse_product(
      "f32 8x12 (2x2: block,block) * 12x6 (2x2: block,block) -> (2x2: block,block) panel=3");
  ASSERT_EQ(plan.panels().size(), 4u);
  const RankProduct first = plan.plan_of(0), second = plan.plan_of(1);
  EXPECT_EQ(first.steps[0].a_from, 0);  // rank (0, 0) begins with what it holds,
  EXPECT_EQ(first.steps[0].b_from, 0);
  EXPECT_EQ(second.steps[0].panel, 2);  // rank (0, 1) half a turn further on
  EXPECT_EQ(second.steps[0].a_from, 1);
  EXPECT_EQ(second.steps[0].b_from, 3);
  const ProductTraffic traffic = traffic_of(plan, 0);
  EXPECT_EQ(traffic.received_bytes, (4 * 6 + 6 * 3) * 4);
  EXPECT_EQ(traffic.sent_bytes, (4 * 6 + 6 * 3) * 4);
  EXPECT_EQ(traffic.receives, 4);
}

TEST(ProductPlan, BlocksOfOneOwnerAreOnePanel) {
  const ProductPlan plan = parse_product(
      "f64 64x4096 (2x2: cyclic:8,cyclic:64) * 4096x64 (2x2: cyclic:64,cyclic:8) -> (2x2: "
      "cyclic:8,cyclic:8)");
  EXPECT_EQ(plan.panels().size(), 8u);
  for (const Panel& panel : plan.panels()) EXPECT_EQ(panel.runs, 1u);
}

void expect_refused(const char* text, const char* words) {
  try {
    (void)parse_product(text);
    FAIL() << text;
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(ProductPlan, WhatDoesNotFitIsRefusedInWords) {
  expect_refused("i32 4x4 (1: block,replicate) * 4x4 (1: block,replicate) -> (1: block,replicate)",
                 "not of i32");
  expect_refused("f32 4x5 (2: block,replicate) * 4x4 (2: block,replicate) -> (2: block,replicate)",
                 "a is 4x5, b is 4x4");
  expect_refused(
      "f32 4x4 (2: cyclic:1,replicate) * 4x4 (2: block,replicate) -> (2: block,replicate)",
      "reshard a first");
  expect_refused("f32 4x4 (2: block,replicate) * 4x4 (2: replicate,block) -> (2: block,replicate)",
                 "reshard b first");
  expect_refused(
      "f32 4x4x4 (2: block,replicate,replicate) * 4x4 (2: block,replicate) -> (2: block,replicate)",
      "expected a matrix");
  expect_refused("f32 4x4 (2: block,replicate) + 4x4 (2: block,replicate) -> (2: block,replicate)",
                 "expected \"*\"");
}

}  // namespace
}  // namespace infini
