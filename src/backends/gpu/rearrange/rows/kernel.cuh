// The row kernel: threads move vectors from global to global memory.
#pragma once

#include "backends/gpu/rearrange/rows/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

// Vectors that a thread has in flight, and blocks that a processor should hold at once.
constexpr int row_batch = 4, row_blocks = 4;

// One thread's vector of a row.
template <int unit>
struct RowVector {
  static constexpr int units = vector_bytes / unit;
  int64_t start;         // where the vector lies in the row
  int32_t first, count;  // the units of it that belong to the row
  Vector value;

  __device__ void fetch(const RowSchedule& s, const RowPlace& row, int64_t v, const char* dst,
                        const char* src) {
    const RowPart part = row_part(s, v, misalignment(dst + row.dst));
    start = part.start;
    first = static_cast<int32_t>(part.from - part.start) / unit;
    count = part.to > part.from ? static_cast<int32_t>(part.to - part.from) / unit : 0;
    const char* from = src + row.src + part.start;
    if (count == units) {
      value = load_vector(from);
    } else {
#pragma unroll
      for (int k = 0; k < units; ++k)
        value.put<unit>(k, has(k) ? load_word<unit>(from + k * unit) : Word<unit>{});
    }
  }

  __device__ bool has(int k) const { return k >= first && k < first + count; }

  __device__ void store(char* row) const {
    if (count == units) {
      store_vector(row + start, value);
    } else {
#pragma unroll
      for (int k = 0; k < units; ++k)
        if (has(k)) store_word<unit>(row + start + k * unit, value.template get<unit>(k));
    }
  }
};

// One long row after the other: the whole block is at one row. Rows that repeat the source of the
// one before are only written.
template <int unit>
__device__ void move_one_by_one(const RowSchedule& s, uint32_t first_row, uint32_t rows,
                                int64_t skipped, uint32_t count, char* dst, const char* src) {
  for (uint32_t begin = threadIdx.x; begin < count; begin += row_threads * row_batch) {
    RowVector<unit> batch[row_batch];
    int64_t last_src = 0;
    for (uint32_t r = 0; r < rows; ++r) {
      const RowPlace row = place_row(s, first_row + r);
      const bool repeated = r > 0 && s.runs_uniform && row.src == last_src;
      last_src = row.src;
#pragma unroll
      for (int k = 0; k < row_batch; ++k)
        if (!repeated && begin + k * row_threads < count)
          batch[k].fetch(s, row, skipped + begin + k * row_threads, dst, src);
#pragma unroll
      for (int k = 0; k < row_batch; ++k)
        if (begin + k * row_threads < count) batch[k].store(dst + row.dst);
    }
  }
}

template <int unit>
__device__ void move_side_by_side(const RowSchedule& s, uint32_t first_row, uint32_t rows,
                                  const FastDivisor& vectors, char* dst, const char* src) {
  const uint32_t count = rows * vectors.divisor;
  for (uint32_t begin = threadIdx.x; begin < count; begin += row_threads * row_batch) {
    RowVector<unit> batch[row_batch];
    int64_t row_dst[row_batch];
#pragma unroll
    for (int k = 0; k < row_batch; ++k) {
      const uint32_t i = begin + k * row_threads;
      if (i >= count) continue;
      const uint32_t number = divide(i, vectors);
      const RowPlace row = place_row(s, first_row + number);
      batch[k].fetch(s, row, i - number * vectors.divisor, dst, src);
      row_dst[k] = row.dst;
    }
#pragma unroll
    for (int k = 0; k < row_batch; ++k)
      if (begin + k * row_threads < count) batch[k].store(dst + row_dst[k]);
  }
}

template <int unit>
__global__ void __launch_bounds__(row_threads, resident_blocks(row_blocks, row_threads))
    move_rows(const __grid_constant__ RowSchedule s, char* dst, const char* src) {
  uint32_t block = blockIdx.x;
  const int64_t skipped = static_cast<int64_t>(take_digit(block, s.segments)) * segment_vectors;
  const uint32_t first_row = block * s.rows_per_block;
  const uint32_t left = s.rows - first_row;
  const uint32_t rows = left < s.rows_per_block ? left : s.rows_per_block;
  const bool aligned = s.runs_uniform && misalignment(dst + s.dst_offset) == 0;
  const FastDivisor& vectors = s.block_vectors[aligned ? 0 : 1];
  wait_for_predecessor();
  if (s.one_by_one)
    move_one_by_one<unit>(s, first_row, rows, skipped, vectors.divisor, dst, src);
  else
    move_side_by_side<unit>(s, first_row, rows, vectors, dst, src);
}

}  // namespace infini::gpu
