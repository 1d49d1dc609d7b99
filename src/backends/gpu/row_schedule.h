// The row schedule: long runs that are contiguous on both sides, moved by threads directly.
//
// dst is written with aligned 16-byte vectors; a source that lies differently in its 16 bytes is
// read as two aligned vectors and shifted together. The first and last vector of a row may be
// partial and move unit by unit.
// Law: every byte of the plan is written exactly once; reads stay inside src_range(plan).
// C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/tile_schedule.h"

namespace infini::gpu {

constexpr int row_threads = 256;
constexpr int row_blocks = 4;  // that a processor should hold at once
constexpr int row_batch = 4;  // vectors a thread has in flight
constexpr int segment_vectors = row_threads * row_batch;

struct RowSchedule {
  int32_t unit, depth;
  uint32_t blocks, rows, rows_per_block;
  // Rows of at least half a block's threads are walked one after the other, in segments where they
  // are long; shorter ones side by side.
  int32_t one_by_one;
  int32_t runs_uniform;  // all rows of dst have one alignment
  int64_t row_bytes, dst_offset, src_offset, src_begin, src_end;
  // Blocks along one row; vectors of a row that one block takes: aligned rows, any rows.
  FastDivisor segments, block_vectors[2];
  GridLoop loops[max_grid_loops];  // which row, fastest loop first
};
static_assert(sizeof(RowSchedule) <= 2048, "kernel arguments travel with every launch");

struct RowPlace {
  int64_t dst, src;
};

constexpr RowPlace place_row(const RowSchedule& s, uint32_t row) {
  RowPlace place{s.dst_offset, s.src_offset};
  for (int i = 0; i < s.depth; ++i) {
    const uint32_t digit = take_digit(row, s.loops[i].extent);
    place.dst += digit * s.loops[i].dst_step;
    place.src += digit * s.loops[i].src_step;
  }
  return place;
}

// How a row lies in aligned vectors of dst: vector v covers bytes [16·v - lead, 16·v - lead + 16) of
// the row. Vectors in [whole_begin, whole_end) belong to the row entirely, and the one or two
// vectors of src that they need lie inside the source.
struct RowSpan {
  int32_t lead, shift;  // misalignment of dst, and of the src bytes of vector 0
  int64_t whole_begin, whole_end, end;
};

// dst and src: the addresses of the row; src_low and src_high: where reads may go.
constexpr RowSpan row_span(const RowSchedule& s, uintptr_t dst, uintptr_t src, uintptr_t src_low,
                           uintptr_t src_high) {
  RowSpan span{};
  span.lead = static_cast<int32_t>(dst % vector_bytes);
  const uintptr_t first = src - static_cast<uintptr_t>(span.lead);  // src bytes of vector 0
  span.shift = static_cast<int32_t>(first % vector_bytes);
  const uintptr_t aligned = first - static_cast<uintptr_t>(span.shift);
  span.end = (s.row_bytes + span.lead + vector_bytes - 1) / vector_bytes;
  span.whole_begin = span.lead == 0 ? 0 : 1;
  while (aligned + static_cast<uintptr_t>(span.whole_begin * vector_bytes) < src_low)
    ++span.whole_begin;  // twice at most
  span.whole_end = (s.row_bytes + span.lead) / vector_bytes;
  const int64_t reads = span.shift == 0 ? 1 : 2;
  const auto room = static_cast<int64_t>(src_high - aligned) / vector_bytes - reads + 1;
  if (room < span.whole_end) span.whole_end = room;
  return span;
}

// The bytes [from, to) of the row that belong to vector v.
struct RowPart {
  int64_t from, to;
};

constexpr RowPart row_part(const RowSchedule& s, const RowSpan& span, int64_t v) {
  const int64_t start = v * vector_bytes - span.lead, end = start + vector_bytes;
  return {start < 0 ? 0 : start, end < s.row_bytes ? end : s.row_bytes};
}

}  // namespace infini::gpu
