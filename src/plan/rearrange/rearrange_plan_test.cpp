// The rearrange plan's law and form, over random layouts; and the errors of bad ones.
#include "plan/rearrange/rearrange_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini {
namespace {

using Pair = std::pair<int64_t, int64_t>;  // (dst byte, src byte)
using Pairs = std::vector<Pair>;

// Of the layouts, by their definition.
Pairs pairs_of(const Layout& dst, const Layout& src) {
  Pairs pairs;
  const int64_t bytes = dtype_bytes(dst.dtype), count = element_count(dst);
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n, to = 0, from = 0;
    for (int i = dst.rank; i-- > 0;) {
      const int64_t index = rest % dst.shape[i];
      rest /= dst.shape[i];
      if (index == 0) continue;
      to += index * dst.strides[i] * bytes;
      from += index * src.strides[i] * bytes;
    }
    for (int64_t byte = 0; byte < bytes; ++byte) pairs.emplace_back(to + byte, from + byte);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void walk(const RearrangePlan& plan, int level, int64_t dst, int64_t src, Pairs& pairs) {
  if (level == plan.depth) {
    for (int64_t byte = 0; byte < plan.atom_bytes; ++byte)
      pairs.emplace_back(dst + byte, src + byte);
    return;
  }
  const Loop& loop = plan.loops[level];
  for (int64_t i = 0; i < loop.extent; ++i)
    walk(plan, level + 1, dst + i * loop.dst_step, src + i * loop.src_step, pairs);
}

Pairs pairs_of(const RearrangePlan& plan) {
  Pairs pairs;
  walk(plan, 0, plan.dst_offset, plan.src_offset, pairs);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void expect_form(const RearrangePlan& plan) {
  for (int i = 0; i < plan.depth; ++i) {
    EXPECT_GE(plan.loops[i].extent, 2);
    EXPECT_GT(plan.loops[i].dst_step, 0);
    if (i == 0) continue;
    const Loop &outer = plan.loops[i - 1], &inner = plan.loops[i];
    EXPECT_GT(outer.dst_step, inner.dst_step);
    EXPECT_FALSE(outer.dst_step == inner.extent * inner.dst_step &&
                 outer.src_step == inner.extent * inner.src_step)
        << "neighbours could be one loop";
  }
  if (plan.depth > 0) {
    const Loop& inner = plan.loops[plan.depth - 1];
    EXPECT_FALSE(inner.dst_step == plan.atom_bytes && inner.src_step == plan.atom_bytes);
  }
}

// The promise is 200,000 layout pairs; they are spread over ten tests so that ctest shows progress.
class PlanLaw : public testing::TestWithParam<int> {};

TEST_P(PlanLaw, HoldsForRandomLayouts) {
  harness::Random random(1000 + static_cast<uint64_t>(GetParam()));
  for (int n = 0; n < 20000; ++n) {
    harness::RandomShape limits;
    limits.max_elements = n % 50 == 0 ? 1024 : 96;
    const auto problem = harness::random_problem(random, limits);
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    const Pairs expected = pairs_of(problem.dst, problem.src);
    ASSERT_EQ(expected, pairs_of(plan)) << harness::to_text(problem) << "\n" << to_string(plan);
    expect_form(plan);
    ASSERT_EQ(static_cast<int64_t>(expected.size()), moved_bytes(plan));
    if (!expected.empty()) {
      const auto range = dst_range(plan);
      ASSERT_EQ(expected.front().first, range.begin);
      ASSERT_EQ(expected.back().first + 1, range.end);
      const auto by_src = [](const Pair& a, const Pair& b) { return a.second < b.second; };
      const auto [low, high] = std::minmax_element(expected.begin(), expected.end(), by_src);
      ASSERT_EQ(low->second, src_range(plan).begin);
      ASSERT_EQ(high->second + 1, src_range(plan).end);
    }
    if (testing::Test::HasFailure()) FAIL() << harness::to_text(problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PlanLaw, testing::Range(0, 10));

TEST(StagedPlans, ComposeToTheSamePairs) {
  harness::Random random(5);
  for (int n = 0; n < 5000; ++n) {
    const auto problem = harness::random_problem(random, {.max_rank = 6, .max_elements = 64});
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    const auto [gather, scatter] = stage_through_dense(plan);
    expect_form(gather);
    std::vector<int64_t> source(static_cast<size_t>(moved_bytes(plan)));  // by dense byte
    for (const auto& [dense, src] : pairs_of(gather)) source[static_cast<size_t>(dense)] = src;
    Pairs pairs;
    for (const auto& [dst, dense] : pairs_of(scatter))
      pairs.emplace_back(dst, source[static_cast<size_t>(dense)]);
    std::sort(pairs.begin(), pairs.end());
    ASSERT_EQ(pairs_of(plan), pairs) << harness::to_text(problem);
  }
}

TEST(RepeatedPlans, ComposeToTheSamePairs) {
  harness::Random random(6);
  int repeated = 0;
  for (int n = 0; n < 20000; ++n) {
    const auto problem = harness::random_problem(random, {.max_rank = 5, .max_elements = 64});
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    for (int loop = 0; loop < plan.depth; ++loop) {
      if (plan.loops[loop].src_step != 0) continue;
      ++repeated;
      const auto [once, again] = repeat_in_dst(plan, loop);
      expect_form(once);
      Pairs pairs = pairs_of(once);
      const std::map<int64_t, int64_t> source(pairs.begin(), pairs.end());  // by byte of dst
      for (const auto& [dst, first] : pairs_of(again)) pairs.emplace_back(dst, source.at(first));
      std::sort(pairs.begin(), pairs.end());
      ASSERT_EQ(pairs_of(plan), pairs) << harness::to_text(problem);
    }
  }
  EXPECT_GT(repeated, 1000);
}

RearrangePlan plan_of(const char* text) {
  const auto problem = harness::parse_rearrange(text);
  return make_rearrange_plan(problem.dst, problem.src);
}

TEST(RearrangePlan, FusesAndAbsorbs) {
  EXPECT_EQ(0, plan_of("rearrange f32 8x9x10").depth);
  EXPECT_EQ(2880, plan_of("rearrange f32 8x9x10").atom_bytes);
  EXPECT_EQ(0, plan_of("rearrange f32 8x9 dst=-9,-1 src=-9,-1").depth);
  const auto heads = plan_of("rearrange f16 8x2048x32x128 perm=0,2,1,3");
  EXPECT_EQ(3, heads.depth);
  EXPECT_EQ(256, heads.atom_bytes);
  EXPECT_EQ(2, plan_of("rearrange f32 4x5x6x7 perm=2,3,0,1").depth);
}

TEST(RearrangePlan, IsTheIdentityOnlyWhereNothingMoves) {
  auto plan = plan_of("rearrange f32 4x5 dst=-10,2 src=-10,2");
  EXPECT_TRUE(is_identity(plan));
  plan.src_offset += 4;  // as parts of larger copies have it
  EXPECT_FALSE(is_identity(plan));
  EXPECT_FALSE(is_identity(plan_of("rearrange f32 4x5 dst=10,2 src=-10,2")));
}

TEST(RearrangePlan, PrintsForPeople) {
  EXPECT_EQ(
      "for 3: dst += 8, src += 4\n"
      "  for 2: dst += 4, src += 12\n"
      "    copy 4 bytes",
      to_string(plan_of("rearrange f32 2x3 dst=1,2")));
  EXPECT_EQ("nothing to move", to_string(plan_of("rearrange f32 2x0")));
  EXPECT_EQ("start at dst -8, src 8\nfor 3: dst += 4, src += -4\n  copy 4 bytes",
            to_string(plan_of("rearrange f32 3 dst=-1")));
}

infiniStatus_t status_of(const char* text) {
  try {
    plan_of(text);
    return INFINI_STATUS_SUCCESS;
  } catch (const Error& error) {
    EXPECT_GT(std::string(error.what()).size(), 20u);
    return error.status();
  }
}

TEST(RearrangePlan, RefusesOverlappingDestinations) {
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of("rearrange f32 2x2 dst=1,1"));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of("rearrange f32 5 dst=0"));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of("rearrange f32 4x3 dst=2,3"));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of("rearrange f32 3x2 dst=2,3"));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of("rearrange f32 1x5 dst=0,1"));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of("rearrange f32 0x5 dst=0,0"));
}

}  // namespace
}  // namespace infini
