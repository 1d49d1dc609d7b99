// The scatter kernel: runs a scatter schedule.
#pragma once

#include "backends/gpu/rearrange/scatter/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

// A part of one row: small words leave no time to find out where each belongs.
template <int unit>
__device__ void scatter_row(char* to, const char* from, int32_t dst_step, int32_t src_step,
                            int32_t count) {
  constexpr int batch = scatter_batch(unit), round = batch * scatter_threads;
  for (auto begin = static_cast<int32_t>(threadIdx.x); begin < count; begin += round) {
    Word<unit> value[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const int32_t i = begin + k * scatter_threads;
      if (i < count) value[k] = load_word<unit>(from + i * src_step);
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const int32_t i = begin + k * scatter_threads;
      if (i < count) store_word<unit>(to + i * dst_step, value[k]);
    }
  }
}

// The same for single bytes, which leave even less: whole rounds without questions.
__device__ inline void scatter_bytes(char* to, const char* from, int32_t dst_step, int32_t src_step,
                                     int32_t count) {
  constexpr int batch = scatter_batch(1), round = batch * scatter_threads;
  to += static_cast<int32_t>(threadIdx.x) * dst_step;
  from += static_cast<int32_t>(threadIdx.x) * src_step;
  dst_step *= scatter_threads, src_step *= scatter_threads;
  int32_t begin = 0;
  for (; begin + round <= count; begin += round) {
    uint8_t value[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k, from += src_step) value[k] = load_word<1>(from);
#pragma unroll
    for (int k = 0; k < batch; ++k, to += dst_step) store_word<1>(to, value[k]);
  }
  for (begin += static_cast<int32_t>(threadIdx.x); begin < count; begin += scatter_threads) {
    store_word<1>(to, load_word<1>(from));
    to += dst_step, from += src_step;
  }
}

// Several rows, which a block then has whole.
template <int unit>
__device__ void scatter_rows(const ScatterSchedule& s, const ScatterBlock& block, char* dst,
                             const char* src) {
  constexpr int batch = scatter_batch(unit);
  for (uint32_t begin = threadIdx.x; begin < block.count; begin += batch * scatter_threads) {
    Word<unit> value[batch];
    char* to[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      const uint32_t number = begin + k * scatter_threads;
      to[k] = nullptr;
      if (number >= block.count) continue;
      const ScatterPlace at = place_in_block(s, block, number);
      const RowPlace row = place_row(s, block.first_row + at.row);
      to[k] = dst + row.dst + at.unit * s.dst_step;
      value[k] = load_word<unit>(src + row.src + at.unit * s.src_step);
    }
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (to[k] != nullptr) store_word<unit>(to[k], value[k]);
  }
}

template <int unit>
__global__ void __launch_bounds__(scatter_threads,
                                  resident_blocks(unit == 1 ? 8 : 1, scatter_threads))
    move_scattered(const __grid_constant__ ScatterSchedule s, char* dst, const char* src) {
  const ScatterBlock block = place_scatter(s, blockIdx.x);
  wait_for_predecessor();
  if (s.rows_per_block > 1) return scatter_rows<unit>(s, block, dst, src);
  const RowPlace row = place_row(s, block.first_row);
  const uint32_t left = s.row_units - block.first_unit;
  const auto count = static_cast<int32_t>(left < block.count ? left : block.count);
  char* to = dst + row.dst + block.first_unit * s.dst_step;
  const char* from = src + row.src + block.first_unit * s.src_step;
  const auto dst_step = static_cast<int32_t>(s.dst_step);
  const auto src_step = static_cast<int32_t>(s.src_step);
  if constexpr (unit == 1)
    scatter_bytes(to, from, dst_step, src_step, count);
  else
    scatter_row<unit>(to, from, dst_step, src_step, count);
}

}  // namespace infini::gpu
