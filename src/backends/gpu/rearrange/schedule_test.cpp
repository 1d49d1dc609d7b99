// The law of the GPU schedules, over random layouts: executed on the host, without a GPU.
#include <gtest/gtest.h>

#include <span>

#include "backends/gpu/rearrange/fill/make_schedule.h"
#include "backends/gpu/rearrange/interpreter.h"
#include "backends/gpu/rearrange/make_schedules.h"
#include "backends/gpu/rearrange/planes/make_schedule.h"
#include "backends/gpu/rearrange/tile/cost.h"
#include "backends/gpu/rearrange/tile/make_schedule.h"
#include "backends/gpu/rearrange/transpose/make_schedule.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/padded_problems.h"

namespace infini::gpu {
namespace {

constexpr int64_t far = 1 << 20;  // bases lie far from address 0 and are aligned but for `at`

template <class Schedule>
std::string run_once(const RearrangePlan& plan, const Schedule& schedule, int64_t dst_at,
                     int64_t src_at) {
  Interpreter interpreter(plan, far + dst_at, far + src_at);
  interpreter.run(schedule);
  return interpreter.verdict();
}

// The unit that the addresses allow, as the kernel's run() would choose it.
int allowed_unit(const RearrangePlan& plan, int64_t dst_at, int64_t src_at) {
  const int64_t bits = (far + dst_at + plan.dst_offset) | (far + src_at + plan.src_offset) | 16;
  return static_cast<int>(bits & -bits);
}

constexpr Stores all_stores[] = {Stores::vectors, Stores::staged, Stores::words, Stores::single};

// Tries every kind of schedule that accepts the problem. Empty when all keep the law.
std::string judge(const harness::RearrangeProblem& problem, int max_unit, const TileBudget& model,
                  std::span<const Stores> of_tiles = all_stores) {
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  if (plan.atom_bytes == 0) return "";
  const int64_t dst_at = problem.dst_at, src_at = problem.src_at;
  const int unit = std::min(max_unit, allowed_unit(plan, dst_at, src_at));
  const UnitNest nest = make_unit_nest(plan, unit);
  std::string fault;
  for (const Stores stores : of_tiles) {
    const auto tile = make_tile_schedule(nest, model, stores).schedule;
    fault = tile ? run_once(plan, *tile, dst_at, src_at) : "";
    if (!fault.empty()) return "tile: " + fault + "\n" + to_string(*tile);
  }
  const bool aligned = (dst_at + plan.dst_offset) % 16 == 0 && (src_at + plan.src_offset) % 16 == 0;
  for (const bool bases_aligned : {false, true}) {
    if (bases_aligned && !aligned) continue;
    const auto transpose = make_transpose_schedule(nest, model, bases_aligned);
    fault = transpose ? run_once(plan, *transpose, dst_at, src_at) : "";
    if (!fault.empty()) return "transpose: " + fault + "\n" + to_string(*transpose);
  }
  if (aligned) {
    const auto planes = make_planes_schedule(nest, 1);
    fault = planes ? run_once(plan, *planes, dst_at, src_at) : "";
    if (!fault.empty()) return "planes: " + fault + "\n" + to_string(*planes);
  }
  const auto fill = make_fill_schedule(nest);
  fault = fill ? run_once(plan, *fill, dst_at, src_at) : "";
  if (!fault.empty()) return "fill: " + fault + "\n" + to_string(*fill);
  const auto scatter = make_scatter_schedule(nest);
  fault = scatter ? run_once(plan, *scatter, dst_at, src_at) : "";
  if (!fault.empty()) return "scatter: " + fault + "\n" + to_string(*scatter);
  const auto tiny = make_tiny_schedule(nest);
  fault = tiny ? run_once(plan, *tiny, dst_at, src_at) : "";
  if (!fault.empty()) return "tiny: " + fault;
  if (plan.atom_bytes >= 16) {
    const auto rows = make_row_schedule(plan, unit);
    const bool shift = rows && rows_shift(*rows, far + dst_at, far + src_at);
    fault = rows && !shift ? run_once(plan, *rows, dst_at, src_at) : "";
    if (!fault.empty()) return "rows: " + fault;
    const auto shifted = make_shift_schedule(plan, unit);
    fault = shifted ? run_once(plan, *shifted, dst_at, src_at) : "";
    if (!fault.empty()) return "shifted rows: " + fault + "\n" + to_string(*shifted);
  }
  const auto generic = make_generic_schedule(nest);
  fault = generic ? run_once(plan, *generic, dst_at, src_at) : "none";
  return fault.empty() ? "" : "generic: " + fault;
}

TEST(FastDivide, AgreesWithDivision) {
  harness::Random random(3);
  for (int i = 0; i < 200000; ++i) {
    const auto divisor =
        static_cast<uint32_t>(random.between(1, INT64_C(1) << random.between(0, 30)));
    const auto n = static_cast<uint32_t>(random.between(0, INT32_MAX));
    const FastDivisor by = make_fast_divisor(divisor);
    ASSERT_EQ(divide(n, by), n / divisor) << n << " / " << divisor;
    const uint32_t multiple = n / divisor * divisor;
    ASSERT_EQ(divide(multiple, by), n / divisor) << multiple << " / " << divisor;
    if (multiple == 0) continue;
    ASSERT_EQ(divide(multiple - 1, by), n / divisor - 1) << multiple - 1;
  }
}

TEST(Schedules, KeepTheLawOnRandomLayouts) {
  constexpr int64_t tiles[] = {256, 1024, 4096, 16384};
  constexpr int units[] = {16, 16, 4, 1};
  harness::Random random(2024);
  for (int i = 0; i < 100000; ++i) {
    harness::RandomShape limits;
    limits.max_rank = 8;
    limits.max_elements = random.one_in(16) ? 1500 : 160;
    const auto problem = i % 4 == 0 ? harness::random_padded_problem(
                                          random, {.most_bytes = 64 << random.between(0, 6)})
                         : i % 64 == 1 ? harness::random_deep_problem(random)
                                       : harness::random_problem(random, limits);
    const auto pick = [&](const auto& list) {
      return list[random.between(0, std::size(list) - 1)];
    };
    const int unit = pick(units);
    const TileBudget model{static_cast<int>(pick(tiles)), 32768, random.one_in(2) ? 1 : 4096,
                           32 << random.between(0, 2)};
    const std::string fault = judge(problem, unit, model, std::span(all_stores).subspan(i % 4, 1));
    ASSERT_EQ(fault, "") << "layout " << i << ": " << to_text(problem) << ", unit <= " << unit
                         << ", tiles of " << model.tile_bytes;
  }
}

TEST(Schedules, KeepTheLawOnCuratedCases) {
  for (const auto& texts : {harness::curated_rearrange_cases(), harness::layout_cases()})
    for (const std::string& text : texts) {
      const auto problem = harness::parse_rearrange(text);
      if (element_count(problem.dst) > 20000) continue;
      ASSERT_EQ(judge(problem, 16, TileBudget{}), "") << text;
    }
}

// Random layouts are seldom this regular: every kind of planes and odd transpositions by their own.
TEST(Schedules, KeepTheLawOnPlanesAndOddTranspositions) {
  harness::Random random(7);
  const char* const dtypes[] = {"u8", "f16", "f32"};
  for (int i = 0; i < 400; ++i) {
    const std::string dtype = dtypes[i % 3];
    const auto planes = std::to_string(2 + i / 3 % 3);
    const auto length =
        std::to_string(16 * random.between(1, 200) + (i % 2) * random.between(0, 15));
    const auto rows = std::to_string(random.between(30, 90)),
               cols = std::to_string(random.between(30, 90));
    const bool joins = random.one_in(2);
    for (const std::string& text :
         {dtype + " " + (joins ? planes + "x" + length : length + "x" + planes) + " perm=1,0",
          dtype + " " + rows + "x" + cols + " perm=1,0",
          dtype + " 3x" + rows + "x5x" + cols + " perm=3,2,1,0"}) {
      const auto problem = harness::parse_rearrange("rearrange " + text);
      const TileBudget model{i % 2 ? 1024 : 4096, 32768, i % 3 == 0 ? 1 : 4096, 32 << i % 3};
      ASSERT_EQ(judge(problem, 16, model), "") << text;
    }
  }
}

// What random layouts seldom have: repeated elements and blocks, short runs side by side, few
// planes at odd pitches and flipped, gaps.
TEST(Schedules, KeepTheLawOnRepeatsAndShortRuns) {
  harness::Random random(17);
  const char* const dtypes[] = {"u8", "f16", "f32", "f64"};
  const auto text = [](int64_t n) { return std::to_string(n); };
  for (int i = 0; i < 300; ++i) {
    const std::string start = std::string("rearrange ") + dtypes[i % 4] + " ";
    const int64_t a = random.between(2, 40), b = random.between(2, 40), c = random.between(2, 12);
    const int64_t gap = random.between(0, 3);
    const std::string shape = text(a) + "x" + text(b) + "x" + text(c);
    for (const std::string& problem :
         {start + shape + " src=" + text(b * (1 + gap)) + "," + text(1 + gap) + ",0",
          start + shape + " src=" + text(c + gap) + ",0,1",
          start + shape + " src=0," + text(c + gap) + ",1",
          start + shape + " src=" + text(c * b) + ",1," + text(b + gap),
          start + shape + " src=1," + text(-a * c - gap) + "," + text(a),
          start + text(b * c) + "x" + text(a) + " src=-1," + text(b * c + gap),
          start + text(a) + "x2x" + text(b) + "x2x" + text(c) + " src=" + text(b * c) + ",0," +
              text(c) + ",0,1"}) {
      const TileBudget model{1024 << i % 5, 49152, i % 3 == 0 ? 1 : 4096, 32 << i % 3};
      ASSERT_EQ(judge(harness::parse_rearrange(problem), 16, model), "") << problem;
    }
  }
}

// Rows shorter and longer than a block's share, several to a block and cut into segments.
TEST(Schedules, KeepTheLawOnScatters) {
  harness::Random random(11);
  const char* const dtypes[] = {"u8", "f16", "f32", "f64"};
  for (int i = 0; i < 200; ++i) {
    const int64_t rows = random.between(1, 9);
    const int64_t cols = random.one_in(3) ? random.between(2000, 9000) : random.between(2, 300);
    const int64_t step = 2 + random.between(0, 1), pitch = cols * step + random.between(0, 9);
    const std::string text = std::string("rearrange ") + dtypes[i % 4] + " " +
                             std::to_string(rows) + "x" + std::to_string(cols) +
                             " dst=" + std::to_string(pitch) + "," + std::to_string(step);
    const auto problem = harness::parse_rearrange(text);
    const auto plan = make_rearrange_plan(problem.dst, problem.src);
    if (i % 4 < 2 && cols > 1) {
      ASSERT_TRUE(make_scatter_schedule(make_unit_nest(plan, 16))) << text;
    }
    ASSERT_EQ(judge(problem, 16, TileBudget{}), "") << text;
  }
}

// Rows of all lengths around a block's share, at all places in their sectors on both sides.
TEST(Schedules, KeepTheLawOnShiftedRows) {
  harness::Random random(13);
  const char* const dtypes[] = {"u8", "f16", "f32", "f64"};
  for (int i = 0; i < 300; ++i) {
    const int bytes = 1 << i % 4;
    const int64_t rows = random.between(1, 7);
    const int64_t share = most_shift_vectors * vector_bytes;
    const int64_t cols =
        (i % 3 == 0 ? random.between(16, 300) : random.between(share / 2, share * 5 / 2)) / bytes +
        16;
    const auto text = [](int64_t n) { return std::to_string(n); };
    const auto problem =
        harness::parse_rearrange(std::string("rearrange ") + dtypes[i % 4] + " " + text(rows) +
                                 "x" + text(cols) + " dst=" + text(cols + random.between(0, 17)) +
                                 ",1 src=" + text(cols + random.between(0, 17)) +
                                 ",1 dst_at=" + text(bytes * random.between(0, 31)) +
                                 " src_at=" + text(bytes * random.between(0, 31)));
    ASSERT_EQ(judge(problem, 16, TileBudget{}), "") << to_text(problem);
  }
}

// A tile order of its own, for even rows that take several loops to find.
TEST(Schedules, WalkWindowsLastWhereRowsAreDear) {
  const auto problem = harness::parse_rearrange("rearrange f32 8x4x8x16x32 perm=4,1,3,0,2");
  const auto plan = make_rearrange_plan(problem.dst, problem.src);
  const TileBudget model{1024, 32768, 1, 32};
  const auto transpose = make_transpose_schedule(make_unit_nest(plan, 16), model, true);
  ASSERT_TRUE(transpose);
  EXPECT_TRUE(transpose->windows_last) << to_string(*transpose);
  EXPECT_EQ(run_once(plan, *transpose, 0, 0), "");
}

// What makes the transposes fast: no bank conflicts, whole vectors, long runs on both sides.
TEST(Schedules, TransposesAreConflictFree) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"}) {
    const auto problem =
        harness::parse_rearrange(std::string("rearrange ") + dtype + " 4096x4096 perm=1,0");
    const auto plan = make_rearrange_plan(problem.dst, problem.src);
    const auto tile = make_tile_schedule(make_unit_nest(plan, 16), TileBudget{}).schedule;
    ASSERT_TRUE(tile) << dtype;
    EXPECT_LE(bank_conflicts(*tile), 2) << to_string(*tile);
    EXPECT_GE(tile->gather, Gather::linear) << to_string(*tile);
    EXPECT_GE(tile->row_bytes[0], 64) << to_string(*tile);
    EXPECT_GE(tile->run_units[0] * tile->unit, 128) << to_string(*tile);
  }
}

// Rows of 6 bytes, 134 apart: lines would be four times as many bytes as sectors.
TEST(Schedules, SparseRowsAreFetchedBySectors) {
  const auto lines = [](const char* text) {
    const auto problem = harness::parse_rearrange(text);
    const auto plan = make_rearrange_plan(problem.dst, problem.src);
    return make_tile_schedule(make_unit_nest(plan, 16), TileBudget{}).schedule.value().whole_lines;
  };
  EXPECT_FALSE(lines("rearrange f16 8x3x2144 src=143648,-1,67"));
  EXPECT_TRUE(lines("rearrange f16 8x3x2144 src=6432,-1,3"));
  EXPECT_TRUE(lines("rearrange f32 300x200 perm=1,0"));
}

// Every vector of a row is some thread's, and neighbours that fetch together ask for the same sector.
TEST(Schedules, RowsAreWalkedBySectors) {
  for (int64_t unit = 1; unit <= vector_bytes; unit *= 2)
    for (int64_t bytes = unit; bytes <= 200; bytes += unit)
      for (uintptr_t start = 4096; start < 4096 + sector_bytes;
           start += static_cast<uintptr_t>(unit)) {
        const auto lanes = static_cast<int32_t>(walk_lanes(bytes, sector_bytes - unit));
        EXPECT_TRUE(lanes == 1 || lanes % 2 == 0) << bytes;
        int64_t next = static_cast<int64_t>(start) / vector_bytes * vector_bytes;
        for (int32_t lane = 0; lane < lanes; ++lane) {
          const int32_t at = lane * vector_bytes - before_row(start);
          const int64_t address = static_cast<int64_t>(start) + at;
          EXPECT_EQ(address % sector_bytes, lane % 2 * vector_bytes) << start << " " << bytes;
          if (!holds_some(at, static_cast<int32_t>(bytes))) continue;
          EXPECT_EQ(address, next) << start << " " << bytes;
          next += vector_bytes;
        }
        EXPECT_GE(next, static_cast<int64_t>(start) + bytes) << start;
      }
}

// What a word has of its run is stored once, byte for byte, by stores that are aligned.
TEST(Schedules, PartsOfWordsAreWhatTheirRunsHave) {
  for (int unit = 1; unit <= 4; unit *= 2)
    for (int32_t run_units = 1; run_units <= 9; ++run_units)
      for (int32_t first = 1 - 4 / unit; first <= run_units; ++first) {
        TileSchedule s{};
        s.unit = unit;
        TilePlace place{};
        place.run_units = run_units;
        const WordPart part = part_of_word(s, place, first);
        int stored[4] = {};
        for (int k = 0; k < 4; ++k) stored[k] += part.whole;
        for (int k = 0; k < 2; ++k)
          if (part.has_half) ++stored[part.half + k];
        if (part.has_byte) ++stored[part.byte];
        if (part.has_third) ++stored[2];
        EXPECT_TRUE(!part.has_half || part.half % 2 == 0);
        for (int k = 0; k < 4; ++k) {
          const int32_t at = first + k / unit;
          EXPECT_EQ(stored[k], at >= 0 && at < run_units)
              << unit << " " << run_units << " " << first;
        }
      }
}

// One image serves rows that begin differently, at every base.
TEST(Schedules, RowsThatRepeatOneShareItsImage) {
  for (const char* text :
       {"u8 37x101 dst=103,1 src=0,1", "f16 5x7x33 dst=231,33,1 src=33,0,1",
        "u8 3x11000 dst=11001,1 src=0,1", "f64 3x5x531 dst=2655,531,1 src=0,0,1"}) {
    const auto problem = harness::parse_rearrange(std::string("rearrange ") + text);
    const auto plan = make_rearrange_plan(problem.dst, problem.src);
    const auto s = *make_shift_schedule(plan, vector_bytes);
    EXPECT_EQ(s.images, 1u) << text;
    EXPECT_GT(s.rows_per_block, 1u) << text;
    for (int base = 0; base < 2 * sector_bytes; base += s.unit)
      EXPECT_EQ(run_once(plan, s, base, 3 * base % (2 * sector_bytes)), "") << text << " " << base;
  }
}

// What the search does not look at, because it cannot be cheaper than the best so far, is not.
TEST(Schedules, TheSearchOverlooksNothing) {
  harness::Random random(5);
  for (int i = 0; i < 60; ++i) {
    const auto problem = harness::random_dense_problem(random, 1 << 24);
    const auto plan = make_rearrange_plan(problem.dst, problem.src);
    const UnitNest nest = make_unit_nest(plan, 16);
    if (nest.depth == 0 || nest.loops[nest.depth - 1].dst_step != nest.unit) continue;
    const TileBudget model{};
    const double found = make_tile_schedule(nest, model).cost;
    for (int64_t run = 32; run <= model.tile_bytes; run *= 2)
      for (int64_t row = 32; row <= model.tile_bytes; row *= 2) {
        const TileShape shape = grow_tile(nest, SrcOrder(nest), run, row, Stores::vectors);
        BestTile alone;
        lay_out_tile(nest, shape, model, alone);
        if (shape.units * nest.unit <= model.tile_bytes) {
          ASSERT_LE(found, alone.cost * (1 + 1e-12)) << to_text(problem) << "\n"
                                                     << to_string(*alone.schedule);
        }
      }
  }
}

TEST(Schedules, AFaultIsSeen) {
  const auto problem = harness::parse_rearrange("rearrange f32 40x50 perm=1,0");
  const auto plan = make_rearrange_plan(problem.dst, problem.src);
  auto tile = *make_tile_schedule(make_unit_nest(plan, 16), TileBudget{1024, 32768}).schedule;
  ASSERT_EQ(run_once(plan, tile, 0, 0), "");
  EXPECT_NE(run_once(plan, tile, 2, 0), "");  // a base that the unit does not divide
  tile.grid[0].dst_step += 4;
  EXPECT_NE(run_once(plan, tile, 0, 0), "");
}

}  // namespace
}  // namespace infini::gpu
