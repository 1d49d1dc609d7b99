// The law of schedules: every point of the plan exactly once, whatever the policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/cpu/machine/machine.h"
#include "backends/cpu/rearrange/blocks/program.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/nest/schedule.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/runs/schedule.h"
#include "backends/cpu/rearrange/tiles/schedule.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini::cpu {
namespace {

// (dst byte, src byte) of the first byte of every atom.
using Points = std::vector<std::pair<int64_t, int64_t>>;

Points sorted(Points points) {
  std::sort(points.begin(), points.end());
  return points;
}

Points points_of(const RearrangePlan& plan) {
  Points points;
  const std::vector<Loop> loops(plan.loops, plan.loops + plan.depth);
  NestCursor cursor(loops, 0);
  for (int64_t i = 0; i < atom_count(plan); ++i, cursor.advance())
    points.push_back({plan.dst_offset + cursor.dst, plan.src_offset + cursor.src});
  return sorted(points);
}

// Walks the tasks from the last to the first, so that nothing depends on the order.
Points points_of(const TileSchedule& s) {
  Points points;
  for (int64_t task = s.tasks(); task-- > 0;) {
    const int64_t column = task % s.strips() * s.strip,
                  row = task / s.strips() % s.chunks() * s.chunk;
    const int64_t rows = std::min(s.chunk, s.row_count - row);
    const int64_t columns = std::min(s.strip, s.column_count - column);
    std::vector<int64_t> src(static_cast<size_t>(rows)), dst(static_cast<size_t>(columns));
    OffsetCursor<&Loop::src_step>(s.rows, row).take(src.data(), rows);
    OffsetCursor<&Loop::dst_step>(s.columns, column).take(dst.data(), columns);
    const NestCursor outer(s.outer, task / s.chunks() / s.strips());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        points.push_back(
            {s.dst_offset + outer.dst + dst[static_cast<size_t>(c)] + (row + r) * s.word,
             s.src_offset + outer.src + src[static_cast<size_t>(r)] + (column + c) * s.word});
  }
  return sorted(points);
}

// What the panels of each block put into the buffer leaves it with the runs.
Points points_of(const BlockSchedule& s) {
  Points points;
  const auto programs = make_block_programs(s);
  for (int64_t block = s.block_count; block-- > 0;) {
    const BlockCursor at(s, block);
    const BlockProgram& program = programs[at.shape()];
    std::map<int64_t, int64_t> src_of;  // by place in the buffer
    for (const auto& panel : program.panels)
      for (int64_t c = 0; c < program.columns; ++c)
        for (int64_t r = 0; r < panel.rows; ++r) {
          const int64_t place =
              panel.buffer + program.buffer_of_column[static_cast<size_t>(c)] + r * s.word;
          src_of[place] =
              panel.src + program.src_of_row[static_cast<size_t>(panel.first_row + r)] + c * s.word;
        }
    for (const auto& run : program.runs)
      for (int64_t i = 0; i < program.run_bytes; i += s.word)
        points.push_back({s.dst_offset + at.dst + run.dst + i,
                          s.src_offset + at.src + src_of.at(run.buffer + i)});
  }
  return sorted(points);
}

std::pair<int64_t, int64_t> element(const RunSchedule& s, int64_t i) {
  switch (s.kind) {
    case LineKind::copy: return {i, i};
    case LineKind::fill: return {i * s.word, 0};
    case LineKind::flip: return {i * s.word, -i * s.word};
    case LineKind::step: return {i * s.word, i * s.ways * s.word};
    case LineKind::weave: return {i * s.word, i % s.ways * s.plane_step + i / s.ways * s.word};
    case LineKind::spread: return {i * s.ways * s.word, i * s.word};
  }
  return {};
}

// `atom` bytes of a copy are one point.
Points points_of(const RunSchedule& s, int64_t atom) {
  Points points;
  const int64_t unit = s.kind == LineKind::copy ? atom : 1;
  for (int64_t task = s.tasks(); task-- > 0;) {
    const int64_t first = task % s.pieces() * s.piece;
    const int64_t last = std::min(s.count, first + s.piece);
    const NestCursor outer(s.outer, task / s.pieces());
    NestCursor near(s.near, 0);
    for (int64_t n = 0; n < s.near_count; ++n, near.advance())
      for (int64_t k = 0; k < s.repeat_of(task); ++k)
        for (int64_t i = first; i < last; ++i) {
          if (i % unit != 0) continue;
          const auto [dst, src] = element(s, i);
          points.push_back({s.dst_offset + outer.dst + near.dst + k * s.repeat.dst_step + dst,
                            s.src_offset + outer.src + near.src + k * s.repeat.src_step + src});
        }
  }
  return sorted(points);
}

Points points_of(const NestSchedule& s) {
  Points points;
  for (int64_t task = s.tasks(); task-- > 0;) {
    const NestCursor outer(s.outer, task / s.blocks());
    const int64_t first = task % s.blocks() * s.block;
    for (int64_t j = first; j < std::min(first + s.block, s.fast_src.extent); ++j)
      for (int64_t i = 0; i < s.fast_dst.extent; ++i)
        points.push_back(
            {s.dst_offset + outer.dst + j * s.fast_src.dst_step + i * s.fast_dst.dst_step,
             s.src_offset + outer.src + j * s.fast_src.src_step + i * s.fast_dst.src_step});
  }
  return sorted(points);
}

// The limits that the kernels rely on.
void expect_limits(const TileSchedule& s) {
  const int64_t unit = line_bytes / s.word;
  EXPECT_LE(s.strip, max_strip);
  EXPECT_TRUE(s.chunk == s.row_count || s.chunk % (s.depth * unit) == 0);
  if (s.depth == 2) {
    EXPECT_TRUE(s.store == TileSchedule::Store::streamed && s.row_count >= 2 * unit);
    EXPECT_GE(s.strip * s.word, paired_width(static_cast<int>(s.word)));
  }
  // Columns lie where streaming stores, or lines put together from two panels, can reach them.
  const int64_t reached = s.store == TileSchedule::Store::streamed
                              ? std::max<int64_t>(s.alignment, skew_unit(static_cast<int>(s.word)))
                              : s.alignment;
  for (const auto* loops : {&s.columns, &s.outer})
    for (const Loop& loop : *loops) EXPECT_EQ(0, loop.dst_step % reached);
  int64_t run = s.word;
  for (const Loop& loop : s.rows) {
    EXPECT_EQ(run, loop.dst_step);
    run *= loop.extent;
  }
  run = s.word;
  for (const Loop& loop : s.columns) {
    EXPECT_EQ(run, loop.src_step);
    run *= loop.extent;
  }
}

// Counts how many plans each kind of schedule took.
struct Taken {
  int tiles = 0, chunked = 0, paired = 0, asking = 0, blocks = 0;
  std::set<LineKind> kinds;
};

void expect_lawful(const harness::RearrangeProblem& problem, const Policy& policy, Taken& taken) {
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  if (plan.atom_bytes == 0) return;
  const Points expected = points_of(plan);
  EXPECT_EQ(expected, points_of(make_nest_schedule(plan))) << "nest";
  if (const auto lines = make_run_schedule(plan, policy)) {
    EXPECT_EQ(expected, points_of(*lines, plan.atom_bytes)) << to_string(*lines);
    taken.kinds.insert(lines->kind);
  }
  if (const auto tiles = make_tile_schedule(plan, policy)) {
    EXPECT_EQ(expected, points_of(*tiles)) << to_string(*tiles);
    expect_limits(*tiles);
    ++taken.tiles;
    taken.chunked += tiles->chunks() > 1;
    taken.paired += tiles->depth == 2;
    taken.asking += tiles->asks;
  }
  if (const auto blocks = make_block_schedule(plan)) {
    EXPECT_EQ(expected, points_of(*blocks)) << to_string(*blocks);
    ++taken.blocks;
  }
}

TEST(RearrangeSchedule, EveryPointOnce) {
  harness::Random random(1);
  const Policy policies[] = {
      {1, 1 << 30, INT64_MAX}, {1, 1 << 30, 0}, {4, 1, 0}, {16, 1, INT64_MAX}};
  Taken taken;
  for (int i = 0; i < 20000; ++i) {
    const auto problem = harness::random_problem(random, {10, 1200});
    expect_lawful(problem, policies[i % 4], taken);
    ASSERT_FALSE(HasFailure()) << harness::to_text(problem);
  }
  EXPECT_GT(taken.tiles, 2000);
  EXPECT_GT(taken.blocks, 50);
  EXPECT_GE(taken.kinds.size(), 5u);
}

TEST(RearrangeSchedule, EveryPointOnceInLargeShapes) {
  Taken taken;
  for (const char* text : {"rearrange u8 9000x3 perm=1,0",
                           "rearrange u8 3x9000 perm=1,0",
                           "rearrange f32 3000x9 perm=1,0",
                           "rearrange f32 9x3000 perm=1,0",
                           "rearrange f32 300x200 perm=1,0",
                           "rearrange f32 5000x20 perm=1,0",
                           "rearrange u8 70x2100 perm=1,0",
                           "rearrange u8 576x2100 perm=1,0",
                           "rearrange f32 320x200 perm=1,0",
                           "rearrange f32 8x8x8x8x8 perm=4,3,2,1,0",
                           "rearrange f64 30x40x50 perm=2,1,0",
                           "rearrange f32 3x20000 src=0,1",
                           "rearrange f32 3x20000 src=1,0",
                           "rearrange u8 300000",
                           "rearrange f32 100x300 dst=600,2",
                           "rearrange f32 100x300 src=300,-1",
                           "rearrange f32 96x300 src=0,1",
                           "rearrange f32 97x300 src=0,1",
                           "rearrange f32 5x64x40 src=0,0,1",
                           "rearrange f32 64x5x40 src=0,40,1",
                           "rearrange f32 32x20x25 perm=1,0,2",
                           "rearrange f32 31x20x25 perm=1,0,2",
                           "rearrange f16 2000x35 src=40,1",
                           "rearrange u8 20x140x4 dst=561,4,1 src=4,80,1",
                           "rearrange f16 3x9x140x2 dst=2521,280,2,1 src=2520,2,18,1"})
    for (const Policy& policy :
         {Policy{1, 1 << 30, 0}, Policy{4, 1, 0}, Policy{16, 1, INT64_MAX}, Policy{2, 1, 0, 64, 64},
          Policy{8, 1, 0, 64, 64, 0, true}, Policy{8, 1, 0, 64, 64, 0, false},
          Policy{.threads = 2,
          .bytes_per_thread = 1,
          .streamed_bytes = 0,
          .tile_streamed_bytes = 1,
          .copy_places = 1,
          .followed_rows = 64,
          .prefetched_strip = 1 << 20},
          Policy{.threads = 2,
          .bytes_per_thread = 1,
          .streamed_bytes = INT64_MAX,
          .prefetched_strip = 1 << 20,
          .near_bytes = 1}}) {
      expect_lawful(harness::parse_rearrange(text), policy, taken);
      ASSERT_FALSE(HasFailure()) << text;
    }
  EXPECT_GT(taken.blocks, 0);
  EXPECT_GT(taken.chunked, 0);
  EXPECT_GT(taken.paired, 0);
  EXPECT_GT(taken.asking, 0);
  EXPECT_EQ(6u, taken.kinds.size());
}

TEST(RearrangeSchedule, ThreadsKeepTheirWritesApart) {
  const auto problem = harness::parse_rearrange("rearrange f32 4096x4096 perm=1,0");
  const auto schedule =
      make_tile_schedule(make_rearrange_plan(problem.dst, problem.src), {2, 1 << 18, 1 << 20});
  ASSERT_TRUE(schedule);
  // Strips are rows of dst: four for two threads, none divided.
  EXPECT_EQ(4, schedule->strips());
  EXPECT_EQ(TileSchedule::Store::streamed, schedule->store);
  EXPECT_TRUE(schedule->aligned());
}

// One row for all of them: no long runs, and nothing else to divide.
TEST(RearrangeSchedule, ThreadsDivideTheCopiesOfARow) {
  for (const char* text : {"rearrange f32 4096x4096 src=0,1", "rearrange f32 4099x1000 src=0,1",
                           "rearrange u8 9000x7x300 src=0,0,1"}) {
    const auto problem = harness::parse_rearrange(text);
    const auto schedule =
        make_run_schedule(make_rearrange_plan(problem.dst, problem.src), {2, 1 << 18, 1 << 20});
    ASSERT_TRUE(schedule) << text;
    EXPECT_GE(schedule->tasks(), 8) << text << "\n" << to_string(*schedule);
  }
}

// Rows that end within lines are put together, a few at a time where they lie far apart.
TEST(RearrangeSchedule, RowsJoin) {
  const auto schedule_of = [](const char* text) {
    const auto problem = harness::parse_rearrange(text);
    return *make_run_schedule(make_rearrange_plan(problem.dst, problem.src), {2, 1 << 18, 1 << 20});
  };
  const RunSchedule far = schedule_of("rearrange f32 800x100x250 perm=1,0,2");
  EXPECT_TRUE(far.joined && far.streamed) << to_string(far);
  EXPECT_EQ(16, far.repeat.extent);
  EXPECT_EQ(1000, far.outer.back().src_step);
  const RunSchedule near = schedule_of("rearrange f16 262144x501 src=512,1");
  EXPECT_TRUE(near.joined) << to_string(near);
  EXPECT_GT(near.repeat.extent, 1000);
  // Also where their number is prime: the last task has fewer.
  const RunSchedule prime = schedule_of("rearrange f32 100003x100 dst=128,1");
  EXPECT_EQ(9, prime.tasks()) << to_string(prime);
  EXPECT_EQ(100003, 8 * prime.repeat.extent + prime.last_repeat);
  EXPECT_FALSE(schedule_of("rearrange f32 800x100x256 perm=1,0,2").joined);
  EXPECT_FALSE(schedule_of("rearrange f32 8000x10x150 dst=1570,153,1").joined);
}

// What can be is not asked whether it is worth it: that is what bids are for.
TEST(RearrangeSchedule, RunsOfAnyLengthAreOffered) {
  const auto is_step = [](const char* text) {
    const auto problem = harness::parse_rearrange(text);
    const auto schedule =
        make_run_schedule(make_rearrange_plan(problem.dst, problem.src), {2, 1 << 18, 1 << 20});
    return schedule && schedule->kind == LineKind::step;
  };
  EXPECT_TRUE(is_step("rearrange f64 2x2000 src=1,2"));
  EXPECT_TRUE(is_step("rearrange f32 8x128 src=1,8"));
  EXPECT_TRUE(is_step("rearrange f32 64x64 src=1,4"));
  EXPECT_FALSE(is_step("rearrange f32 64x64 src=1,64"));
}

}  // namespace
}  // namespace infini::cpu
