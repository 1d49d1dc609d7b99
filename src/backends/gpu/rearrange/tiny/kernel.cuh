// The tiny kernel: a thread moves one unit, and the kernel begins while the one before it ends.
#pragma once

#include "backends/gpu/rearrange/tiny/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

template <int unit>
__global__ void __launch_bounds__(tiny_threads)
    move_tiny(const __grid_constant__ TinySchedule s, char* dst, const char* src) {
  const uint32_t number = blockIdx.x * tiny_threads + threadIdx.x;
  const TinyPlace place = place_tiny(s, number);
  let_successor_start();
  wait_when_known(static_cast<uint32_t>(place.dst ^ place.src));
  if (number < s.units) store_word<unit>(dst + place.dst, load_word<unit>(src + place.src));
}

}  // namespace infini::gpu
