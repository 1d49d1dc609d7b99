// The row and generic kernels: threads move bytes from global to global memory.
#pragma once

#include "backends/gpu/generic_schedule.h"
#include "backends/gpu/row_schedule.h"
#include "backends/gpu/words.cuh"

namespace infini::gpu {

// A row as one thread sees it.
struct Row {
  char* to;          // where vector 0 lies, aligned
  const char* from;  // the aligned vector of src that holds the first byte of vector 0
  RowSpan span;

  __device__ Row(const RowSchedule& s, uint32_t number, char* dst, const char* src) {
    const RowPlace place = place_row(s, number);
    span = row_span(s, reinterpret_cast<uintptr_t>(dst + place.dst),
                    reinterpret_cast<uintptr_t>(src + place.src),
                    reinterpret_cast<uintptr_t>(src + s.src_begin),
                    reinterpret_cast<uintptr_t>(src + s.src_end));
    to = dst + place.dst - span.lead;
    from = src + place.src - span.lead - span.shift;
  }

  __device__ bool is_whole(int64_t v) const {
    return v >= span.whole_begin && v < span.whole_end;
  }

  __device__ Vector fetch(int64_t v) const {
    const Vector low = load_vector(from + v * vector_bytes);
    if (span.shift == 0) return low;
    return shift_together(low, load_vector(from + (v + 1) * vector_bytes), span.shift);
  }

  template <int unit>
  __device__ void move_part(const RowSchedule& s, int64_t v) const {
    const RowPart part = row_part(s, span, v);
    for (int64_t i = part.from + span.lead; i < part.to + span.lead; i += unit)
      store_word<unit>(to + i, load_word<unit>(from + span.shift + i));
  }
};

// One long row after the other: the whole block is at one row, so what belongs to the row is
// computed once.
template <int unit>
__device__ void move_one_by_one(const RowSchedule& s, uint32_t first_row, uint32_t rows,
                                int64_t skipped, uint32_t count, char* dst, const char* src) {
  for (uint32_t r = 0; r < rows; ++r) {
    const Row row(s, first_row + r, dst, src);
    for (uint32_t begin = threadIdx.x; begin < count; begin += row_threads * row_batch) {
      Vector values[row_batch];
#pragma unroll
      for (int k = 0; k < row_batch; ++k) {
        const int64_t v = skipped + begin + k * row_threads;
        if (row.is_whole(v) && begin + k * row_threads < count) values[k] = row.fetch(v);
      }
#pragma unroll
      for (int k = 0; k < row_batch; ++k) {
        const int64_t v = skipped + begin + k * row_threads;
        if (begin + k * row_threads >= count) continue;
        if (row.is_whole(v))
          store_vector(row.to + v * vector_bytes, values[k]);
        else
          row.move_part<unit>(s, v);
      }
    }
  }
}

template <int unit>
__device__ void move_side_by_side(const RowSchedule& s, uint32_t first_row, uint32_t rows,
                                  const FastDivisor& vectors, char* dst, const char* src) {
  const uint32_t count = rows * vectors.divisor;
  for (uint32_t begin = threadIdx.x; begin < count; begin += row_threads * row_batch) {
    char* to[row_batch];
    Vector values[row_batch];
#pragma unroll
    for (int k = 0; k < row_batch; ++k) {
      const uint32_t i = begin + k * row_threads;
      to[k] = nullptr;
      if (i >= count) continue;
      const uint32_t number = divide(i, vectors);
      const uint32_t v = i - number * vectors.divisor;
      const Row row(s, first_row + number, dst, src);
      if (row.is_whole(v)) {
        values[k] = row.fetch(v);
        to[k] = row.to + v * vector_bytes;
      } else {
        row.move_part<unit>(s, v);
      }
    }
#pragma unroll
    for (int k = 0; k < row_batch; ++k)
      if (to[k] != nullptr) store_vector(to[k], values[k]);
  }
}

template <int unit>
__global__ void __launch_bounds__(row_threads, row_blocks)
    move_rows(const __grid_constant__ RowSchedule s, char* dst, const char* src) {
  uint32_t block = blockIdx.x;
  const int64_t skipped = static_cast<int64_t>(take_digit(block, s.segments)) * segment_vectors;
  const uint32_t first_row = block * s.rows_per_block;
  const uint32_t left = s.rows - first_row;
  const uint32_t rows = left < s.rows_per_block ? left : s.rows_per_block;
  const bool aligned = s.runs_uniform && misalignment(dst + s.dst_offset) == 0;
  const FastDivisor& vectors = s.block_vectors[aligned ? 0 : 1];
  if (s.one_by_one)
    move_one_by_one<unit>(s, first_row, rows, skipped, vectors.divisor, dst, src);
  else
    move_side_by_side<unit>(s, first_row, rows, vectors, dst, src);
}

template <int unit>
__global__ void __launch_bounds__(generic_threads)
    move_units(const __grid_constant__ GenericSchedule s, char* dst, const char* src) {
  const GenericPlace place = place_unit(s, blockIdx.x, threadIdx.x);
  if (place.inside) store_word<unit>(dst + place.dst, load_word<unit>(src + place.src));
}

}  // namespace infini::gpu
