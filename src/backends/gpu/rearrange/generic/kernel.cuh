// The generic kernel: a thread moves one unit, whatever the layout.
#pragma once

#include "backends/gpu/rearrange/generic/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

template <int unit>
__global__ void __launch_bounds__(generic_threads)
    move_units(const __grid_constant__ GenericSchedule s, char* dst, const char* src) {
  const GenericPlace place = place_unit(s, blockIdx.x, threadIdx.x);
  wait_for_predecessor();
  if (place.inside) store_word<unit>(dst + place.dst, load_word<unit>(src + place.src));
}

}  // namespace infini::gpu
