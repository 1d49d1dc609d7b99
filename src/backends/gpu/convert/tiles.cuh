// Convert's transposes.
#pragma once

#include "backends/gpu/convert/rows.cuh"

namespace infini::gpu {

// Transposes: tiles, read along x's direction (the planes) and written along y's (the row). A thread has patches, `across`
// elements along x by `along` of y, of which both sides have whole words if they are more than one. A unit is a tile; per_row
// of them are those of one row of the nest.
template <class Number, int x_size, int y_size, int across, int along>
__global__ void __launch_bounds__(operator_threads)
    convert_tiles(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                  uint32_t units, ConvertNumbers numbers) {
  using Y = Element<y_size * along>;  // what is stored at once
  constexpr uint32_t side_x = tile_across(x_size, y_size), side_y = tile_along(y_size);
  constexpr uint32_t lanes = side_x / across, lines = operator_threads / lanes;
  constexpr uint32_t out_lanes = side_y / along, out_lines = operator_threads / out_lanes;
  constexpr uint32_t step = tile_pitch(y_size, along);
  constexpr int patch = across * along, all = side_x * side_y / operator_threads;
  constexpr int most = sizeof(Number) == 8 ? 8 : across * along > 1 ? 32 : 16;
  constexpr int at_once = most < all ? most : all;
  constexpr int patches = at_once / patch;
  auto* const tile = reinterpret_cast<Y*>(shared_memory());
  wait_for_predecessor();
  const uint32_t down = (nest.length + side_y - 1) / side_y;
  const uint32_t lane = threadIdx.x % lanes, line = threadIdx.x / lanes;
  const uint32_t out_lane = threadIdx.x % out_lanes, out_line = threadIdx.x / out_lanes;
  for (uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const uint32_t row = divide(unit, per_row), rest = unit - row * per_row.divisor;
    const uint32_t first_i = rest % down * side_y, first_p = rest / down * side_x;
    uint32_t index;
    const auto place = place_operator_row<4>(nest, base, row, index);
    const auto at = [&](int k, uint32_t i, uint32_t p) {
      return place.at[k] + static_cast<int64_t>(first_i + i) * nest.row_steps[k] +
             static_cast<int64_t>(first_p + p) * numbers.plane_steps[k];
    };
    const uint32_t left_i = nest.length - first_i, left_p = numbers.planes - first_p;
#pragma unroll 1
    for (uint32_t turn = 0; turn < side_y / along; turn += lines * patches) {
      uint32_t x[at_once * x_size / 4]{}, y[at_once * y_size / 4];
#pragma unroll
      for (int k = 0; k < patches; ++k) {
        const uint32_t i = (turn + line + static_cast<uint32_t>(k) * lines) * along;
        const char* from = at(1, i, lane * across);
        if (i < left_i && lane * across < left_p) {
#pragma unroll
          for (int e = 0; e < along; ++e, from += nest.row_steps[1])
            put_element<x_size * across>(x, k * along + e, from);
        }
      }
      Number v[at_once], turned[at_once];
      read_numbers<x_size>(v, x, numbers.x);
#pragma unroll
      for (int n = 0; n < at_once; ++n)  // along y within a patch
        turned[n] = v[n / patch * patch + n % along * across + n % patch / along];
      if (numbers.computes) {
        const bool one = !numbers.along[0] && !numbers.along[1];
        compute_numbers(turned, [&](int n) {
          const uint32_t k = n / patch, i = (turn + line + k * lines) * along + n % along,
                         p = lane * across + n % patch / along;
          return one || i >= left_i || p >= left_p ? ScaleShift{numbers.scale, numbers.shift}
                                                   : numbers_at(numbers, at(2, i, p), at(3, i, p));
        });
      }
      put_numbers<y_size>(y, turned, numbers.y, numbers.saturates);
#pragma unroll
      for (int n = 0; n < at_once / along; ++n) {
        // Planes that are read together lie apart, so that neighbouring threads meet neighbouring banks.
        const uint32_t p = lane + static_cast<uint32_t>(n % across) * lanes;
        tile[p * step + turn + line + static_cast<uint32_t>(n / across) * lines] =
            get_element<y_size * along>(y, n);
      }
    }
    __syncthreads();
#pragma unroll 4
    for (uint32_t p = out_line; p < side_x; p += out_lines)
      if (out_lane * along < left_i && p < left_p)
        *reinterpret_cast<Y*>(at(0, out_lane * along, p)) =
            tile[(p % across * lanes + p / across) * step + out_lane];
    __syncthreads();
  }
}

}  // namespace infini::gpu
