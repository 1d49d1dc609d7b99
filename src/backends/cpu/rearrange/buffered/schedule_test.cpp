// The law of buffered tiles: every point of the plan once, in tiles that their buffer holds.
#include "backends/cpu/rearrange/buffered/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backends/cpu/rearrange/cost.h"
#include "backends/cpu/rearrange/kernel.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini::cpu {
namespace {

// Where each byte of dst comes from, by the offsets of the first bytes of words.
using Sources = std::multimap<int64_t, int64_t>;

Sources sources_of(const RearrangePlan& plan) {
  Sources sources;
  const std::vector<Loop> loops(plan.loops, plan.loops + plan.depth);
  NestCursor at(loops, 0);
  for (int64_t i = 0; i < atom_count(plan); ++i, at.advance())
    sources.emplace(plan.dst_offset + at.dst, plan.src_offset + at.src);
  return sources;
}

void add_tile(Sources& sources, const BufferedSchedule& s, const NestCursor& outer, int64_t strip,
              int64_t tile) {
  const int64_t first = tile * s.tile_rows(), left = strip * s.strip;
  for (int64_t c = left; c < std::min(left + s.strip, s.column_count); ++c)
    for (int64_t r = first; r < std::min(first + s.tile_rows(), s.row_count); ++r) {
      int64_t row = 0, column = 0;
      OffsetCursor<&Loop::src_step>(s.rows, r).take(&row, 1);
      OffsetCursor<&Loop::dst_step>(s.columns, c).take(&column, 1);
      sources.emplace(s.dst_offset + outer.dst + column + r * s.word,
                      s.src_offset + outer.src + row + c * s.word);
    }
}

Sources sources_of(const BufferedSchedule& s) {
  Sources sources;
  NestCursor outer(s.outer, 0);
  for (int64_t i = 0; i < s.outer_count; ++i, outer.advance())
    for (int64_t strip = 0; strip < s.strips(); ++strip)
      for (int64_t tile = 0; tile < s.tiles_of_strip(); ++tile)
        add_tile(sources, s, outer, strip, tile);
  return sources;
}

void expect_lawful(const harness::RearrangeProblem& problem, const Policy& policy, int& taken) {
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  const auto schedule = make_buffered_schedule(plan, policy);
  if (!schedule) return;
  ++taken;
  EXPECT_EQ(sources_of(plan), sources_of(*schedule)) << to_string(*schedule);
  EXPECT_LE(round_up(schedule->strip * schedule->word, line_bytes) * schedule->tile_rows(),
            max_buffer);
  if (schedule->streamed) {
    EXPECT_TRUE(schedule->aligned() && schedule->row_bytes() % line_bytes == 0);
  }
}

TEST(BufferedSchedule, EveryPointOnce) {
  harness::Random random(5);
  int taken = 0;
  for (int i = 0; i < 8000; ++i) {
    Policy policy{1, 1 << 30, random.one_in(2) ? 0 : INT64_MAX};
    policy.buffer_bytes = max_buffer >> random.between(0, 6);
    const auto problem = harness::random_problem(random, {10, 1200});
    expect_lawful(problem, policy, taken);
    ASSERT_FALSE(HasFailure()) << harness::to_text(problem);
  }
  EXPECT_GT(taken, 800);
}

TEST(BufferedSchedule, TilesAreAsSquareAsTheBufferAllows) {
  const auto tile = [](const char* text) {
    const auto problem = harness::parse_rearrange(text);
    const auto s = make_buffered_schedule(make_rearrange_plan(problem.dst, problem.src), {});
    return std::to_string(s->lines) + " lines of " + std::to_string(s->strip * s->word) + " bytes";
  };
  EXPECT_EQ("4 lines of 256 bytes", tile("rearrange f32 2064x2064 perm=1,0"));  // of no one set
  EXPECT_EQ("4 lines of 64 bytes", tile("rearrange u8 2112x2112 perm=1,0"));
  EXPECT_EQ("8 lines of 256 bytes", tile("rearrange f64 1032x1032 perm=1,0"));
  EXPECT_EQ("2 lines of 192 bytes", tile("rearrange f32 32x48 perm=1,0"));
}

// Of what lies whole pages apart, or half of one, each tile has lines in several sets: eight that are written, four that are
// read, eight where that is no larger a buffer.
TEST(BufferedSchedule, TilesHaveLinesInSeveralSets) {
  const auto tile = [](const char* text) {
    const auto problem = harness::parse_rearrange(text);
    const auto s = make_buffered_schedule(make_rearrange_plan(problem.dst, problem.src), {});
    return std::to_string(s->lines) + " lines of " + std::to_string(s->strip * s->word) + " bytes";
  };
  EXPECT_EQ("4 lines of 128 bytes", tile("rearrange u8 2048x2048 perm=1,0"));
  EXPECT_EQ("2 lines of 256 bytes", tile("rearrange u8 1024x4096 perm=1,0"));
  EXPECT_EQ("8 lines of 64 bytes", tile("rearrange u8 4096x1024 perm=1,0"));
  EXPECT_EQ("8 lines of 128 bytes", tile("rearrange u8 4096x4096 perm=1,0"));
  EXPECT_EQ("4 lines of 256 bytes", tile("rearrange f16 1024x2048 perm=1,0"));
  EXPECT_EQ("8 lines of 128 bytes", tile("rearrange f16 2048x1024 perm=1,0"));
  EXPECT_EQ("8 lines of 256 bytes", tile("rearrange f16 2048x2048 perm=1,0"));
  EXPECT_EQ("8 lines of 256 bytes", tile("rearrange f32 2048x2048 perm=1,0"));
  EXPECT_EQ("8 lines of 512 bytes", tile("rearrange f64 2048x2048 perm=1,0"));
  EXPECT_EQ("8 lines of 128 bytes", tile("rearrange f32 1040x1024 src=1,1040"));
}

// Lines wait for their place in L1 where more of them than it holds lie whole pages apart.
TEST(CrowdedLines, AreThoseOfOneSet) {
  Machine machine;
  machine.l1_bytes = 32 << 10, machine.crowded_line_ns = 2;
  const auto ns = [&](std::vector<Loop> loops, int64_t count) {
    return crowded_ns(loops, &Loop::src_step, count, machine);
  };
  EXPECT_EQ(0, ns({{16, 0, 4160}}, 16));
  EXPECT_EQ(0, ns({{8, 0, 4096}}, 8));
  EXPECT_EQ(1, ns({{64, 0, 4096}}, 16));
  EXPECT_EQ(1.5, ns({{64, 0, -8192}}, 32));
  EXPECT_EQ(1, ns({{64, 0, 2048}}, 32));
  EXPECT_EQ(1, ns({{4, 0, 1 << 20}, {16, 0, 4096}}, 16));
  EXPECT_EQ(0, ns({{4, 0, 4096}, {16, 0, 64}}, 16));
  EXPECT_EQ(0, ns({{1024, 0, 4160}}, 1024));
}

}  // namespace
}  // namespace infini::cpu
