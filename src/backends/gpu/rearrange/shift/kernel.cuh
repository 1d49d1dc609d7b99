// The shift kernel: runs a shift schedule.
#pragma once

#include "backends/gpu/rearrange/shift/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

template <int unit>
__device__ void load_images(const ShiftSchedule& s, const ShiftRow* rows, uint32_t count,
                            uint4* images, const char* src) {
  for (uint32_t i = threadIdx.x; i < count * s.image_vectors.divisor; i += shift_threads) {
    const uint32_t number = divide(i, s.image_vectors);
    const ShiftRow row = rows[number];
    const auto vector = static_cast<int32_t>(i - number * s.image_vectors.divisor);
    const int32_t at = vector * vector_bytes - image_lead(row, reinterpret_cast<uintptr_t>(src));
    if (!has_some(row, at)) continue;
    if (has_all(row, at) || vector_inside(s, row.from + at)) {
      stage_vector(images + i, src + row.from + at);
    } else {
      auto* to = reinterpret_cast<unsigned char*>(images + i);
      for (int k = 0; k < vector_bytes; k += unit)
        if (at + k >= row.begin && at + k < row.end)
          store_word<unit>(to + k, load_word<unit>(src + row.from + at + k));
    }
  }
}

// `shared`: all rows out of one image, which holds what `held` says.
template <int unit, bool shared>
__device__ void store_shifted(const ShiftSchedule& s, const ShiftRow* rows, uint32_t count,
                              const uint4* images, const ShiftRow& held, char* dst,
                              const char* src) {
  const int64_t from = shared ? held.from : 0;
  const int32_t begins = shared ? image_lead(held, reinterpret_cast<uintptr_t>(src)) : 0;
  for (uint32_t i = threadIdx.x; i < count * s.vectors.divisor; i += shift_threads) {
    const uint32_t number = divide(i, s.vectors), vector = i - number * s.vectors.divisor;
    const ShiftRow row = rows[number];
    const auto at = static_cast<int32_t>(vector) * vector_bytes;
    if (!has_some(row, at)) continue;
    const int32_t lead = shared ? begins + static_cast<int32_t>(row.from - from)
                                : image_lead(row, reinterpret_cast<uintptr_t>(src));
    const uint4* image = images + (shared ? 0 : number * s.image_vectors.divisor) + vector +
                         static_cast<uint32_t>(lead) / vector_bytes;
    const Vector value =
        shift_together(load_vector(image), load_vector(image + 1), lead % vector_bytes);
    store_part<unit>(dst + row.to + at, value, at < row.begin ? row.begin - at : 0,
                     row.end - at < vector_bytes ? row.end - at : vector_bytes);
  }
}

template <int unit>
__global__ void __launch_bounds__(shift_threads, resident_blocks(6, shift_threads))
    move_shifted(const __grid_constant__ ShiftSchedule s, char* dst, const char* src) {
  const ShiftBlock block = place_shift(s, blockIdx.x);
  auto* images = reinterpret_cast<uint4*>(shared_memory());
  auto* rows = reinterpret_cast<ShiftRow*>(images + s.images * s.image_vectors.divisor);
  if (threadIdx.x < block.rows)
    rows[threadIdx.x] = place_shift_row(s, block.first_row + threadIdx.x, block.skipped,
                                        reinterpret_cast<uintptr_t>(dst));
  const bool shared = s.images < s.rows_per_block;
  ShiftRow* held = shared ? rows + s.rows_per_block : rows;
  if (shared && threadIdx.x == 0) *held = place_image(s, *rows, block.first_row, block.skipped);
  __syncthreads();
  wait_for_predecessor();
  load_images<unit>(s, held, shared ? 1 : block.rows, images, src);
  stage_wait();
  __syncthreads();
  if (shared)
    store_shifted<unit, true>(s, rows, block.rows, images, *held, dst, src);
  else
    store_shifted<unit, false>(s, rows, block.rows, images, *held, dst, src);
}

}  // namespace infini::gpu
