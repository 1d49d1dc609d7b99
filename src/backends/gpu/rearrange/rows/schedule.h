// The row schedule: long runs that are contiguous on both sides, moved by threads directly.
//
// Both sides are accessed with aligned 16-byte vectors, in which a row must lie equally on both
// (where it does not, see shift_schedule.h). The first and last vector of a row may be partial and
// move unit by unit.
// Law: every byte of the plan is written exactly once; reads stay inside src_range(plan).
// C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/rearrange/grid.h"

namespace infini::gpu {

constexpr int row_threads = 256;
constexpr int segment_vectors = 1024;

struct RowSchedule {
  int32_t unit, depth;
  uint32_t blocks, rows, rows_per_block;
  // Rows longer than a block's share are cut into segments, and a block takes the same segment of
  // several rows one after the other; shorter rows are walked side by side.
  int32_t one_by_one;
  int32_t runs_uniform;  // all rows of dst have one alignment
  int32_t sides_even;    // no step changes how dst and src lie to each other in their 16 bytes
  int64_t row_bytes, dst_offset, src_offset, src_begin, src_end;
  // Blocks along one row; vectors of a row that one block takes: aligned rows, any rows.
  FastDivisor segments, block_vectors[2];
  GridLoop loops[max_grid_loops];  // which row, fastest loop first
};
static_assert(sizeof(RowSchedule) <= 2048, "kernel arguments travel with every launch");

// True when some row's bytes lie differently in the vectors of the two sides.
constexpr bool rows_shift(const RowSchedule& s, uintptr_t dst, uintptr_t src) {
  return !s.sides_even ||
         (dst + static_cast<uintptr_t>(s.dst_offset) - src - static_cast<uintptr_t>(s.src_offset)) %
                 vector_bytes !=
             0;
}

// The part of a row that belongs to one vector: bytes [from, to) of the row. The vector starts at
// byte 16·v - lead of the row, where lead = dst address of the row modulo 16.
struct RowPart {
  int64_t start, from, to;
};

constexpr RowPart row_part(const RowSchedule& s, int64_t v, int lead) {
  const int64_t start = v * vector_bytes - lead, end = start + vector_bytes;
  return {start, start < 0 ? 0 : start, end < s.row_bytes ? end : s.row_bytes};
}

}  // namespace infini::gpu
