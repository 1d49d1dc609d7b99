// The generic schedule: one unit per thread, for every plan.
//
// Loops go to the threads of a block greedily, smallest source step first, until the block is full;
// the last of them may be cut. All other loops are the grid.
// Law: over all blocks and threads every unit of the plan is visited exactly once.
// C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/rearrange/grid.h"

namespace infini::gpu {

constexpr int generic_threads = 256;
constexpr int max_block_loops = 8;     // every loop has an extent of at least 2
constexpr int max_generic_loops = 66;  // any plan

struct GenericSchedule {
  int32_t unit, block_depth, grid_depth;
  uint32_t blocks, block_units;  // of block_units threads each
  // The cut loop is block loop block_depth - 1 and grid loop 0: the last block along it has
  // last_extent indices. Equal to the loop's extent when nothing is cut.
  uint32_t last_extent;
  int32_t cut;
  int64_t dst_offset, src_offset;
  GridLoop block[max_block_loops];
  GridLoop grid[max_generic_loops];
};
static_assert(sizeof(GenericSchedule) <= 4032, "a kernel argument is at most 4 KB");

struct GenericPlace {
  int64_t dst, src;
  bool inside;
};

constexpr GenericPlace place_unit(const GenericSchedule& s, uint32_t block, uint32_t thread) {
  GenericPlace place{s.dst_offset, s.src_offset, thread < s.block_units};
  bool last = false;
  for (int i = 0; i < s.grid_depth; ++i) {
    const uint32_t digit = take_digit(block, s.grid[i].extent);
    place.dst += digit * s.grid[i].dst_step;
    place.src += digit * s.grid[i].src_step;
    if (i == 0) last = digit + 1 == s.grid[i].extent.divisor;
  }
  for (int i = 0; i < s.block_depth; ++i) {
    const uint32_t digit = take_digit(thread, s.block[i].extent);
    place.dst += digit * s.block[i].dst_step;
    place.src += digit * s.block[i].src_step;
    if (s.cut && last && i == s.block_depth - 1 && digit >= s.last_extent) place.inside = false;
  }
  return place;
}

}  // namespace infini::gpu
