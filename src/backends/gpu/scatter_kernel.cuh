// The scatter kernel: runs a scatter schedule.
#pragma once

#include "backends/gpu/scatter_schedule.h"
#include "backends/gpu/words.cuh"

namespace infini::gpu {

template <int unit>
__global__ void __launch_bounds__(scatter_threads)
    move_scattered(const __grid_constant__ ScatterSchedule s, char* dst, const char* src) {
  const ScatterBlock block = place_scatter(s, blockIdx.x);
  const RowPlace first = place_row(s, block.first_row);
  wait_for_predecessor();
  for (uint32_t begin = threadIdx.x; begin < block.count; begin += scatter_round) {
    Word<unit> value[scatter_batch];
    char* to[scatter_batch];
#pragma unroll
    for (int k = 0; k < scatter_batch; ++k) {
      const uint32_t number = begin + k * scatter_threads;
      const ScatterPlace at = place_in_block(s, block, number);
      to[k] = nullptr;
      if (number >= block.count || at.unit >= s.row_units) continue;
      const RowPlace row = at.row == 0 ? first : place_row(s, block.first_row + at.row);
      to[k] = dst + row.dst + at.unit * s.dst_step;
      value[k] = load_word<unit>(src + row.src + at.unit * s.src_step);
    }
#pragma unroll
    for (int k = 0; k < scatter_batch; ++k)
      if (to[k] != nullptr) store_word<unit>(to[k], value[k]);
  }
}

}  // namespace infini::gpu
