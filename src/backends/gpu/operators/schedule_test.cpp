// How operators' rows, heads and logits are dealt out to threads: every element once, whatever the sizes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "backends/gpu/operators/rope_schedule.h"
#include "backends/gpu/operators/row_schedule.h"
#include "backends/gpu/operators/sample_schedule.h"

namespace infini::gpu {
namespace {

// Each pack of a held row belongs to one thread of its group, among the first few of that thread.
TEST(RowSchedules, HaveEveryPackOnce) {
  for (const uint32_t packs : {1u, 7u, 8u, 31u, 32u, 33u, 128u, 500u, 512u, 1023u, 1024u}) {
    const RowSchedule s = make_row_schedule(1000, packs, held_packs);
    ASSERT_TRUE(s.held) << packs;
    EXPECT_TRUE(std::has_single_bit(s.group));
    EXPECT_LE(s.group, static_cast<uint32_t>(row_block_threads));
    EXPECT_GE(s.group * held_packs, packs);
    EXPECT_TRUE(s.group == 8 || s.group / 2 * held_packs < packs) << "more threads than needed";
    EXPECT_GE(s.blocks * s.rows_per_block(), 1000u);
    EXPECT_LT((s.blocks - 1) * s.rows_per_block(), 1000u);
  }
}

TEST(RowSchedules, GiveABlockToWhatIsNotHeld) {
  for (const RowSchedule& s :
       {make_row_schedule(77, 1025, held_packs), make_row_schedule(77, 3, 0)}) {
    EXPECT_FALSE(s.held);
    EXPECT_EQ(static_cast<uint32_t>(row_block_threads), s.group);
    EXPECT_EQ(77u, s.blocks);
  }
}

TEST(RowSchedules, HoldLongRowsInMoreRegisters) {
  const RowSchedule s = make_row_schedule(77, 2752, long_held_packs[1]);
  EXPECT_TRUE(s.held);
  EXPECT_EQ(256u, s.group);
  EXPECT_FALSE(make_row_schedule(77, 256 * long_held_packs[2] + 1, long_held_packs[2]).held);
}

// The points of all loops, as offsets of y, x and the position, with each of the group's heads.
std::multiset<std::vector<int64_t>> points(const OperatorPlan& plan, const HeadGroup& group) {
  std::multiset<std::vector<int64_t>> all = {{0, 0, 0}};
  const auto repeat = [&](int64_t extent, int64_t y, int64_t x, int64_t position) {
    std::multiset<std::vector<int64_t>> next;
    for (const auto& at : all)
      for (int64_t i = 0; i < extent; ++i)
        next.insert({at[0] + i * y, at[1] + i * x, at[2] + i * position});
    all = next;
  };
  for (int i = 0; i < plan.depth; ++i)
    repeat(plan.loops[i].extent, plan.loops[i].steps[0], plan.loops[i].steps[1],
           plan.loops[i].steps[2]);
  repeat(group.count, group.steps[0], group.steps[1], 0);
  return all;
}

TEST(RopeSchedules, TakeHeadsOutOfTheInnermostLoop) {
  for (const int64_t heads : {1, 2, 3, 4, 6, 7, 8, 32, 40}) {
    OperatorPlan plan;
    plan.function = Function::rope;
    plan.depth = 2;
    plan.loops[0] = {5, {10000, 20000, 8, 0, 0}};
    plan.loops[1] = {heads, {256, 512, 0, 0, 0}};
    const auto before = points(plan, {});
    const HeadGroup group = take_heads(plan);
    EXPECT_EQ(heads % 4 == 0 ? 4 : heads % 2 == 0 ? 2 : 1, group.count);
    EXPECT_EQ(before, points(plan, group)) << heads;
  }
}

TEST(RopeSchedules, LeaveTokensApart) {
  OperatorPlan plan;
  EXPECT_EQ(1, take_heads(plan).count);
  plan.depth = 1;
  plan.loops[0] = {8, {256, 512, 8, 0, 0}};  // each at a position of its own
  EXPECT_EQ(1, take_heads(plan).count);
  EXPECT_EQ(8, plan.loops[0].extent);
}

TEST(SampleSchedules, KeepTheirArraysApart) {
  for (const uint32_t logits : {1u, 2u, 1023u, 1024u, 1025u, 128000u, most_logits}) {
    const SampleSchedule s = make_sample_schedule(100, logits);
    EXPECT_GE(s.parts * part_logits, logits);
    EXPECT_LT((s.parts - 1) * part_logits, logits);
    EXPECT_GE(s.masses, s.largest + 8 * s.parts);
    EXPECT_GE(s.counts, s.masses + 8 * sample_bins);
    EXPECT_GE(s.state, s.counts + 4 * sample_bins);
    EXPECT_GE(s.list, s.state + sizeof(SampleState));
    EXPECT_GE(s.bytes, s.list + 8 * size_t{logits});
    for (const size_t at : {s.largest, s.masses, s.counts, s.state, s.list, s.bytes})
      EXPECT_EQ(0u, at % 256);
    EXPECT_EQ(most_sample_rows, s.rows);
  }
  EXPECT_EQ(3u, make_sample_schedule(3, 10).rows);
}

// Bins ascend with the distance, and all lie between that of the largest logit and that of what is not a number.
TEST(SampleSchedules, BinsAscendWithTheDistance) {
  uint32_t last = 1;
  const auto look = [&](float apart) {
    const uint32_t bin = bin_of_distance(std::bit_cast<uint32_t>(apart));
    EXPECT_GE(bin, last) << apart;
    EXPECT_LT(bin, bin_of_nan);
    last = bin;
  };
  look(std::numeric_limits<float>::denorm_min());
  for (double apart = 1e-44; apart < 3e38; apart *= 1.003) look(static_cast<float>(apart));
  look(std::numeric_limits<float>::max());
  look(std::numeric_limits<float>::infinity());
  EXPECT_EQ(bin_of_nan - 1, last);
  const auto bin = [](float apart) { return bin_of_distance(std::bit_cast<uint32_t>(apart)); };
  EXPECT_EQ(32u, bin(8.0f) - bin(4.0f));
}

}  // namespace
}  // namespace infini::gpu
