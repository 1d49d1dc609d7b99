// The scatter kernel: runs a scatter schedule.
#pragma once

#include "backends/gpu/scatter_schedule.h"
#include "backends/gpu/words.cuh"

namespace infini::gpu {

// A part of one row: small words leave no time to find out where each belongs.
template <int unit>
__device__ void scatter_row(char* to, const char* from, int32_t dst_step, int32_t src_step,
                            int32_t count) {
  for (auto begin = static_cast<int32_t>(threadIdx.x); begin < count; begin += scatter_round) {
    Word<unit> value[scatter_batch];
#pragma unroll
    for (int k = 0; k < scatter_batch; ++k) {
      const int32_t i = begin + k * scatter_threads;
      if (i < count) value[k] = load_word<unit>(from + i * src_step);
    }
#pragma unroll
    for (int k = 0; k < scatter_batch; ++k) {
      const int32_t i = begin + k * scatter_threads;
      if (i < count) store_word<unit>(to + i * dst_step, value[k]);
    }
  }
}

template <int unit>
__device__ void scatter_rows(const ScatterSchedule& s, const ScatterBlock& block, char* dst,
                             const char* src) {
  for (uint32_t begin = threadIdx.x; begin < block.count; begin += scatter_round) {
    Word<unit> value[scatter_batch];
    char* to[scatter_batch];
#pragma unroll
    for (int k = 0; k < scatter_batch; ++k) {
      const uint32_t number = begin + k * scatter_threads;
      to[k] = nullptr;
      if (number >= block.count) continue;
      const ScatterPlace at = place_in_block(s, block, number);
      if (at.unit >= s.row_units) continue;
      const RowPlace row = place_row(s, block.first_row + at.row);
      to[k] = dst + row.dst + at.unit * s.dst_step;
      value[k] = load_word<unit>(src + row.src + at.unit * s.src_step);
    }
#pragma unroll
    for (int k = 0; k < scatter_batch; ++k)
      if (to[k] != nullptr) store_word<unit>(to[k], value[k]);
  }
}

template <int unit>
__global__ void __launch_bounds__(scatter_threads)
    move_scattered(const __grid_constant__ ScatterSchedule s, char* dst, const char* src) {
  const ScatterBlock block = place_scatter(s, blockIdx.x);
  wait_for_predecessor();
  if (s.rows_per_block > 1) return scatter_rows<unit>(s, block, dst, src);
  const RowPlace row = place_row(s, block.first_row);
  const uint32_t left = s.row_units - block.first_unit;
  scatter_row<unit>(dst + row.dst + block.first_unit * s.dst_step,
                    src + row.src + block.first_unit * s.src_step, static_cast<int32_t>(s.dst_step),
                    static_cast<int32_t>(s.src_step),
                    static_cast<int32_t>(left < block.count ? left : block.count));
}

}  // namespace infini::gpu
