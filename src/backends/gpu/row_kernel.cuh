// The row and generic kernels: threads move bytes from global to global memory.
#pragma once

#include "backends/gpu/generic_schedule.h"
#include "backends/gpu/row_schedule.h"
#include "backends/gpu/words.cuh"

namespace infini::gpu {

// One thread's vector of a row: read by fetch(), written by store().
template <int unit>
struct RowVector {
  char* to = nullptr;  // null: nothing to store
  Vector value;

  __device__ void fetch(const RowSchedule& s, const RowPlace& row, int64_t vector, char* dst,
                        const char* src) {
    char* start = dst + row.dst;
    const RowPart part = row_part(s, vector, misalignment(start));
    if (part.from >= part.to) return;
    const char* from = src + row.src + part.start;
    const int shift = misalignment(from);
    const char* aligned = from - shift;
    const bool whole = part.to - part.from == vector_bytes && aligned >= src + s.src_begin &&
                       aligned + (shift == 0 ? 1 : 2) * vector_bytes <= src + s.src_end;
    if (whole) {
      to = start + part.start;
      value = load_vector(aligned);
      if (shift != 0) value = shift_together(value, load_vector(aligned + vector_bytes), shift);
    } else {
      for (int64_t i = part.from; i < part.to; i += unit)
        store_word<unit>(start + i, load_word<unit>(src + row.src + i));
    }
  }

  __device__ void store() const {
    if (to != nullptr) store_vector(to, value);
  }
};

template <int unit>
__global__ void __launch_bounds__(row_threads)
    move_rows(const __grid_constant__ RowSchedule s, char* dst, const char* src) {
  uint32_t block = blockIdx.x;
  const int64_t skipped = static_cast<int64_t>(take_digit(block, s.segments)) * segment_vectors;
  const uint32_t first_row = block * s.rows_per_block;
  const uint32_t rows =
      s.rows - first_row < s.rows_per_block ? s.rows - first_row : s.rows_per_block;
  const bool aligned = s.runs_uniform && misalignment(dst + s.dst_offset) == 0;
  const FastDivisor& vectors = s.block_vectors[aligned ? 0 : 1];
  const uint32_t count = rows * vectors.divisor;
  for (uint32_t begin = threadIdx.x; begin < count; begin += row_threads * row_batch) {
    RowVector<unit> batch[row_batch];
#pragma unroll
    for (int k = 0; k < row_batch; ++k) {
      const uint32_t i = begin + k * row_threads;
      if (i >= count) continue;
      const uint32_t row = divide(i, vectors);
      const uint32_t vector = i - row * vectors.divisor;
      batch[k].fetch(s, place_row(s, first_row + row), skipped + vector, dst, src);
    }
#pragma unroll
    for (int k = 0; k < row_batch; ++k) batch[k].store();
  }
}

template <int unit>
__global__ void __launch_bounds__(generic_threads)
    move_units(const __grid_constant__ GenericSchedule s, char* dst, const char* src) {
  const GenericPlace place = place_unit(s, blockIdx.x, threadIdx.x);
  if (place.inside) store_word<unit>(dst + place.dst, load_word<unit>(src + place.src));
}

}  // namespace infini::gpu
