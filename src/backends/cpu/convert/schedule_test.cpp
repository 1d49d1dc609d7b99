// The laws of Convert's schedules: every point of the plan once, with the places of all four operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "backends/cpu/convert/blocks/schedule.h"
#include "backends/cpu/convert/rows/schedule.h"
#include "backends/cpu/convert/tiles/schedule.h"
#include "backends/cpu/rearrange/kernel.h"
#include "base/dtype.h"
#include "harness/operators/operator_table.h"

namespace infini::cpu {
namespace {

// Offsets of y, x, scale and shift; in order of y's.
using Point = std::array<int64_t, 4>;
using Points = std::vector<Point>;

Points sorted(Points points) {
  std::sort(points.begin(), points.end());
  return points;
}

// Each point of `nest` (outermost first) from `at` on.
template <class Body>
void walk(const std::vector<OperatorLoop>& nest, Point at, Body body, size_t depth = 0) {
  if (depth == nest.size()) return body(at);
  for (int64_t i = 0; i < nest[depth].extent; ++i) {
    walk(nest, at, body, depth + 1);
    for (size_t k = 0; k < 4; ++k) at[k] += nest[depth].steps[k];
  }
}

Point beginning(const OperatorPlan& plan) {
  return {plan.offsets[0], plan.offsets[1], plan.offsets[2], plan.offsets[3]};
}

Points points_of(const OperatorPlan& plan) {
  Points points;
  walk(nest_of(plan), beginning(plan), [&](const Point& p) { points.push_back(p); });
  return sorted(points);
}

Points points_of(const ConvertRows& s, const OperatorPlan& plan, int64_t head) {
  Points points;
  walk(s.outer, beginning(plan), [&](const Point& row) {
    int64_t next = 0;
    for (int64_t piece = 0; piece < s.pieces_of_row(); ++piece) {
      EXPECT_EQ(next, s.begin_of(piece, head));
      for (next = s.begin_of(piece, head); next < s.end_of(piece, head); ++next) {
        points.push_back(row);
        for (size_t k = 0; k < 4; ++k) points.back()[k] += next * plan.row_steps[k];
      }
    }
  });
  return sorted(points);
}

// Offsets on both sides of point i of a side.
template <class Loops>
std::array<int64_t, 2> place(const Loops& loops, int64_t i) {
  std::array<int64_t, 2> at{};
  OffsetCursor<&Loop::dst_step>(loops, i).take(&at[0], 1);
  OffsetCursor<&Loop::src_step>(loops, i).take(&at[1], 1);
  return at;
}

Points points_of(const ConvertTiles& s, const OperatorPlan& plan) {
  Points points;
  const int64_t word = s.tiles.word, x_word = dtype_bytes(plan.dtypes[1]);
  for (int64_t o = 0; o < s.tiles.outer_count; ++o) {
    const NestCursor at(s.tiles.outer, o), numbers(s.outer, o);
    for (int64_t r = 0; r < s.tiles.row_count; ++r)
      for (int64_t c = 0; c < s.tiles.column_count; ++c) {
        const auto row = place(s.rows, r), column = place(s.columns, c);
        points.push_back({s.tiles.dst_offset + at.dst + r * word + place(s.tiles.columns, c)[0],
                          s.tiles.src_offset + at.src + c * x_word + place(s.tiles.rows, r)[1],
                          s.offsets[0] + numbers.dst + row[0] + column[0],
                          s.offsets[1] + numbers.src + row[1] + column[1]});
      }
  }
  return sorted(points);
}

Points points_of(const ConvertSchedule& s, const OperatorPlan& plan) {
  std::vector<OperatorLoop> sides;
  for (const auto& side : s.sides) {
    EXPECT_LE(side.block, side.extent);
    sides.push_back({side.extent, {}});
    std::copy_n(side.steps, 4, sides.back().steps);
  }
  Points points;
  walk(sides, beginning(plan), [&](const Point& p) { points.push_back(p); });
  return sorted(points);
}

// The runs of a block: its elements' numbers in the buffer, and their places in the other operand.
void expect_runs(const ConvertRuns& runs, const ConvertSchedule& s, const ConvertBlock& block,
                 size_t near, const std::array<int64_t, 2>& bytes) {
  if (runs.elements == 0) return;
  std::vector<OperatorLoop> sides;
  for (size_t i = 0; i < s.sides.size(); ++i) {
    sides.push_back({block.extents[i], {}});
    std::copy_n(s.sides[i].steps, 4, sides.back().steps);
    sides.back().steps[near] = 0;
  }
  Points expected, points;
  walk(sides, Point{}, [&](const Point& p) { expected.push_back(p); });
  std::vector<int64_t> numbers;
  walk(runs.outer, Point{}, [&](Point p) {
    for (int64_t i = 0; i < runs.elements; ++i) {
      numbers.push_back(p[near] / bytes[near] + i);
      points.push_back(p);
      points.back()[near] = 0;
      points.back()[1 - near] += i * bytes[1 - near];
    }
  });
  EXPECT_EQ(sorted(expected), sorted(points));
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(static_cast<int64_t>(i), numbers[i]);
}

TEST(ConvertSchedules, RunsAreTheirBlock) {
  harness::Random random(25);
  int into_y = 0, of_x = 0;
  for (int i = 0; i < 6000; ++i) {
    const auto problem = harness::random_operator_problem(random, Function::convert, 3000);
    const OperatorPlan plan = make_plan(problem);
    if (plan.length == 0) continue;
    const ConvertSchedule s = make_convert_schedule(plan, {1, 1 << 30, INT64_MAX});
    const ConvertBlock block = block_of_shape(s, ragged_sides(s), 0);
    const std::array<int64_t, 2> bytes{dtype_bytes(plan.dtypes[0]), dtype_bytes(plan.dtypes[1])};
    const auto into = runs_into_y(s, block, bytes[0], bytes[1]),
               of = runs_of_x(s, block, bytes[0], bytes[1]);
    into_y += into.elements > 0 && !into.outer.empty(),
        of_x += of.elements > 0 && !of.outer.empty();
    expect_runs(into, s, block, 1, bytes);
    expect_runs(of, s, block, 0, bytes);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(into_y, 100);
  EXPECT_GT(of_x, 100);
}

TEST(ConvertSchedules, EveryPointOnce) {
  harness::Random random(24);
  int rows_taken = 0, tiles_taken = 0, pairs = 0;
  for (int i = 0; i < 6000; ++i) {
    const auto problem = harness::random_operator_problem(random, Function::convert, 1500);
    const OperatorPlan plan = make_plan(problem);
    if (plan.length == 0) continue;
    Policy policy{1, 1 << 30, random.one_in(2) ? 0 : INT64_MAX};
    const Points expected = points_of(plan);
    if (const auto rows = make_convert_rows(plan, policy)) {
      ++rows_taken;
      ASSERT_EQ(expected, points_of(*rows, plan, random.between(0, 63)));
    }
    if (const auto tiles = make_convert_tiles(plan, policy)) {
      ++tiles_taken;
      pairs += tiles->tiles.depth == 2;
      ASSERT_EQ(expected, points_of(*tiles, plan)) << to_string(*tiles);
      ASSERT_TRUE(tiles->tiles.chunk == tiles->tiles.row_count ||
                  tiles->tiles.chunk % tiles->tiles.panel_rows() == 0);
    }
    ASSERT_EQ(expected, points_of(make_convert_schedule(plan, policy), plan));
  }
  EXPECT_GT(rows_taken, 1000);
  EXPECT_GT(tiles_taken, 200);
  EXPECT_GT(pairs, 0);
}

// Rows of whole lines are walked as they lie in x where they go past the caches.
TEST(ConvertSchedules, RowsAreReadInOrder) {
  const auto x_steps = [](const char* text, int64_t streamed_bytes) {
    const OperatorPlan plan = make_plan(harness::parse_operator(text));
    const auto rows = make_convert_rows(plan, {1, 1 << 30, streamed_bytes});
    std::vector<int64_t> steps;
    for (const OperatorLoop& loop : rows->outer) steps.push_back(loop.steps[1]);
    return steps;
  };
  const char* const heads = "convert f16 4x8x16x64 x_dtype=f32 x=8192,64,512,1";
  EXPECT_EQ((std::vector<int64_t>{32768, 2048, 256}), x_steps(heads, 0));
  EXPECT_EQ((std::vector<int64_t>{32768, 256, 2048}), x_steps(heads, INT64_MAX));
}

}  // namespace
}  // namespace infini::cpu
