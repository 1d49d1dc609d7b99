// The shift schedule: long rows that lie differently in their vectors on the two sides.
//
//   load:  a row's bytes go to shared memory with aligned 16-byte accesses, as they lie in src,
//   store: and are shifted together there into aligned 16-byte accesses to dst.
// Rows that repeat one of src are written by a block that has loaded it once: its image reaches as far as any of them wants,
// which depends on where they begin in their sectors.
// Both walks begin at a boundary of `sector_bytes` on their own side, so that no sector is shared
// by two warps. The first and last vector of a row may be partial and move unit by unit.
// Law: every byte of the plan is written exactly once; reads stay inside src_range(plan).
// C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/rearrange/grid.h"

namespace infini::gpu {

constexpr int shift_threads = 256;
// Vectors and rows of dst that one block takes: few, since a block that waits for its loads leaves
// its processor to others.
constexpr int most_shift_vectors = 640, most_shift_rows = 64;
// What is written so often for what is loaded once is worth longer blocks.
constexpr int most_repeated_vectors = 4 * most_shift_vectors;

struct ShiftSchedule {
  int32_t unit, depth;
  uint32_t blocks, rows_per_block, shared_bytes;
  uint32_t images;            // of a block: one for each row, or one for all
  uint32_t group;             // a block's rows are some of so many that follow one another
  FastDivisor parts;          // blocks along them
  FastDivisor segments;       // blocks along one row
  FastDivisor vectors;        // of dst, that a block takes of one row
  FastDivisor image_vectors;  // of src, that these may need
  int64_t row_bytes, dst_offset, src_offset, src_begin, src_end;
  GridLoop loops[max_grid_loops];  // which row, fastest loop first
};
static_assert(sizeof(ShiftSchedule) <= 1024, "kernel arguments travel with every launch");

struct ShiftBlock {
  int64_t skipped;  // bytes of its rows that other blocks take
  uint32_t first_row, rows;
};

constexpr ShiftBlock place_shift(const ShiftSchedule& s, uint32_t block) {
  const uint32_t segment = take_digit(block, s.segments);
  const uint32_t first = take_digit(block, s.parts) * s.rows_per_block, left = s.group - first;
  return {int64_t{segment} * s.vectors.divisor * vector_bytes, block * s.group + first,
          left < s.rows_per_block ? left : s.rows_per_block};
}

// A block's part of one row: bytes [begin, end) from `to` (a boundary of dst) and from `from` on.
struct ShiftRow {
  int64_t to, from;
  int32_t begin, end;
};

constexpr ShiftRow place_shift_row(const ShiftSchedule& s, uint32_t row, int64_t skipped,
                                   uintptr_t dst) {
  const RowPlace place = place_row(s, row);
  const auto lead = static_cast<int64_t>((dst + static_cast<uintptr_t>(place.dst)) &
                                         static_cast<uintptr_t>(sector_bytes - 1));
  const int64_t begin = lead - skipped, end = begin + s.row_bytes;
  const int64_t most = int64_t{s.vectors.divisor} * vector_bytes;
  return {place.dst - begin, place.src - begin, static_cast<int32_t>(begin < 0 ? 0 : begin),
          static_cast<int32_t>(end < most ? end : most)};
}

// What an image holds, in the place of a row: that row's part, or what all of a block's rows want of the same source,
// wherever they begin in dst.
constexpr ShiftRow place_image(const ShiftSchedule& s, const ShiftRow& row, uint32_t number,
                               int64_t skipped) {
  if (s.images > 1 || s.rows_per_block == 1) return row;
  const int64_t most = int64_t{s.vectors.divisor} * vector_bytes, lead = sector_bytes - s.unit;
  const int64_t begin = lead - skipped, end = begin + s.row_bytes;
  const RowPlace place = place_row(s, number);
  return {0, place.src - begin, static_cast<int32_t>(begin < 0 ? 0 : begin),
          static_cast<int32_t>(end < most + lead ? end : most + lead)};
}

// Where a row begins in the first sector of its image.
constexpr int32_t image_lead(const ShiftRow& row, uintptr_t src) {
  return static_cast<int32_t>((src + static_cast<uintptr_t>(row.from)) &
                              static_cast<uintptr_t>(sector_bytes - 1));
}

// The vector at this byte of a block's part of a row.
constexpr bool has_some(const ShiftRow& row, int32_t at) {
  return at + vector_bytes > row.begin && at < row.end;
}
constexpr bool has_all(const ShiftRow& row, int32_t at) {
  return at >= row.begin && at + vector_bytes <= row.end;
}

// May a vector of src be read whole, though parts of it belong to no row?
constexpr bool vector_inside(const ShiftSchedule& s, int64_t offset) {
  return offset >= s.src_begin && offset + vector_bytes <= s.src_end;
}

}  // namespace infini::gpu
