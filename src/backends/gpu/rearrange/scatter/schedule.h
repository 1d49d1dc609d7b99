// The scatter schedule: units that never touch in dst, written along dst's innermost loop.
//
// Memory is written by sectors, and one that is written in part must be read first. Neighbouring
// threads therefore take neighbours in dst, so that all units of a sector arrive together; which
// unit a thread takes costs it little, since a block stays in few rows. Law: over all blocks every
// unit of the plan is visited exactly once. C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/rearrange/grid.h"

namespace infini::gpu {

constexpr int scatter_threads = 256;
// Units that a thread has in flight. Of single bytes fewer, so that a processor holds more threads.
constexpr int scatter_batch(int unit) { return unit == 1 ? 4 : 8; }

// What one block takes: at least 8 KB, since a block's life costs more than a few small words.
constexpr int scatter_units(int unit) { return scatter_threads * (unit < 4 ? 32 / unit : 8); }

struct ScatterSchedule {
  int32_t unit, depth;
  uint32_t blocks, rows, rows_per_block;
  uint32_t row_units;      // the innermost loop's extent
  FastDivisor segments;    // blocks along one row
  FastDivisor part_units;  // units of a row that one block takes
  int64_t dst_step, src_step;
  int64_t dst_offset, src_offset;
  GridLoop loops[max_grid_loops];  // which row, fastest loop first
};
static_assert(sizeof(ScatterSchedule) <= 512, "kernel arguments travel with every launch");

struct ScatterBlock {
  uint32_t first_unit, first_row;
  uint32_t count;  // units of the block, those past the ends of its rows included
};

constexpr ScatterBlock place_scatter(const ScatterSchedule& s, uint32_t block) {
  const uint32_t first_unit = take_digit(block, s.segments) * s.part_units.divisor;
  const uint32_t first_row = block * s.rows_per_block, left = s.rows - first_row;
  return {first_unit, first_row,
          (left < s.rows_per_block ? left : s.rows_per_block) * s.part_units.divisor};
}

// Unit `number` of a block: which row of the block, which unit of that row.
struct ScatterPlace {
  uint32_t row, unit;
};

constexpr ScatterPlace place_in_block(const ScatterSchedule& s, const ScatterBlock& block,
                                      uint32_t number) {
  const uint32_t row = divide(number, s.part_units);
  return {row, block.first_unit + number - row * s.part_units.divisor};
}

}  // namespace infini::gpu
