// The staged kernel: boxes go through shared memory, in the order of src on the way in, of dst on the way out.
#pragma once

#include "backends/gpu/pages/kernel.cuh"
#include "backends/gpu/pages/staged_schedule.h"

namespace infini::gpu {

// `unit` bytes, by whichever word that is.
__device__ inline void load_unit(unsigned char* to, const char* from, int unit) {
  switch (unit) {
    case 16: return stage_vector(to, from);
    case 8: return store_word<8>(to, load_word<8>(from));
    case 4: return store_word<4>(to, load_word<4>(from));
    case 2: return store_word<2>(to, load_word<2>(from));
    default: return store_word<1>(to, load_word<1>(from));
  }
}

// A vector of elements at even distances in the image, of which the first `unit` bytes are wanted.
template <int element>
__device__ void store_unit(char* to, const unsigned char* image, int32_t step, int unit) {
  Vector value;
  if (unit == vector_bytes) {
#pragma unroll
    for (int k = 0; k < vector_bytes / element; ++k)
      value.put<element>(k, load_word<element>(image + k * step));
    return store_vector(to, value);
  }
  const int count = unit / element;
#pragma unroll
  for (int k = 0; k < vector_bytes / element; ++k)
    value.put<element>(k, k < count ? load_word<element>(image + k * step) : Word<element>{});
  switch (unit) {
    case 8: return store_word<8>(to, value.template get<8>(0));
    case 4: return store_word<4>(to, value.template get<4>(0));
    default: return store_word<2>(to, value.template get<2>(0));
  }
}

template <int element>
__global__ void __launch_bounds__(piece_threads, resident_blocks(6, piece_threads))
    move_staged(const __grid_constant__ StagedSchedule s,
                const __grid_constant__ PiecePlaces places) {
  unsigned char* images = shared_memory();
  const uint32_t first = blockIdx.x * s.boxes_per_block;
  const uint32_t left = places.pieces * s.boxes.divisor - first;
  const uint32_t boxes = left < s.boxes_per_block ? left : s.boxes_per_block;
  auto* table = reinterpret_cast<PieceEnds*>(images + staged_bytes);  // where the boxes lie
  wait_for_predecessor();
  for (uint32_t box = threadIdx.x; box < boxes; box += piece_threads) {
    const BoxPlace at = place_box(s, first + box);
    const PieceEnds ends = find_piece(places, at.piece);
    table[box] = ends.dst == nullptr ? ends : PieceEnds{ends.dst + at.dst, ends.src + at.src};
  }
  __syncthreads();
  const BoxThread loads = thread_of_box(s.load_lanes, threadIdx.x);
  for (uint32_t unit = loads.unit; unit < s.loads.divisor; unit += s.load_lanes.divisor) {
    const StagedPlace place = place_staged(s.load, s.load_depth, unit);
#pragma unroll 4
    for (uint32_t box = loads.box; box < boxes; box += loads.together)
      if (table[box].dst != nullptr)
        load_unit(images + box * s.box_bytes + place.image, table[box].src + place.step,
                  s.load_unit);
  }
  stage_wait();
  __syncthreads();
  const BoxThread stores = thread_of_box(s.store_lanes, threadIdx.x);
  for (uint32_t unit = stores.unit; unit < s.stores.divisor; unit += s.store_lanes.divisor) {
    const StagedPlace place = place_staged(s.store, s.store_depth, unit);
#pragma unroll 2
    for (uint32_t box = stores.box; box < boxes; box += stores.together)
      if (table[box].dst != nullptr)
        store_unit<element>(table[box].dst + place.step, images + box * s.box_bytes + place.image,
                            s.element_image, s.store_unit);
  }
}

}  // namespace infini::gpu
