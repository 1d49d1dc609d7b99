// Rotating pairs by their token's position: pairs whose elements lie apart, or are neighbours.
#pragma once

#include "backends/gpu/operators/packs.cuh"
#include "backends/gpu/operators/rope_schedule.h"

namespace infini::gpu {

// Pairs as they come from memory. Neighbours: both elements of a pair lie together, and `count` pairs with them.
template <class T, int count, bool neighbours>
struct Pairs {
  static constexpr int elements = neighbours ? 2 * count : count, halves = neighbours ? 1 : 2;
  using Elements = Pack<T, elements>;
  Elements x[halves];

  __device__ void load(const RowNest& nest, const char* from) {
    x[0] = *reinterpret_cast<const Elements*>(from);
    if constexpr (!neighbours) x[1] = *reinterpret_cast<const Elements*>(from + nest.pair_steps[1]);
  }
  __device__ void store(const RowNest& nest, char* to, const Numbers<T, count>& sin,
                        const Numbers<T, count>& cos) const {
    using Sum = SumOf<T>;
    Numbers<T, elements> y[halves];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const int first = neighbours ? 2 * k : k, second = neighbours ? 2 * k + 1 : k;
      const Sum a = widened(x[0].at(first)), b = widened(x[halves - 1].at(second));
      y[0].v[first] = a * cos.v[k] - b * sin.v[k];
      y[halves - 1].v[second] = a * sin.v[k] + b * cos.v[k];
    }
    *reinterpret_cast<Elements*>(to) = rounded_pack<T, elements>(y[0]);
    if constexpr (!neighbours)
      *reinterpret_cast<Elements*>(to + nest.pair_steps[0]) = rounded_pack<T, elements>(y[1]);
  }
};

// The angles of `count` pairs; beyond the tables (which may have no rows) they are not numbers.
template <class T, int count>
__device__ Numbers<T, count> angles(const RowNest& nest, const RowPointers& base, int table,
                                    int64_t position, uint32_t first) {
  if (position >= 0 && position < nest.table_rows)
    return widened_pack(load_pack<T, count>(base.at[3 + table] + position * nest.table_steps[table],
                                            nest.row_steps[3 + table], first));
  Numbers<T, count> none;
#pragma unroll
  for (int k = 0; k < count; ++k) none.v[k] = NAN;
  return none;
}

// `count` pairs of a few heads for each unit: one position turns all of them.
template <class T, int count, bool neighbours>
__global__ void __launch_bounds__(operator_threads)
    rotate_pairs(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                 uint32_t units, HeadGroup heads) {
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
    uint32_t index;
    const auto place = place_operator_row<3>(nest, base, row, index);
    const int64_t position = integer_at(place.at[2], nest.dtypes[2]);
    const char* const from = place.at[1] + first * nest.row_steps[1];
    char* const to = place.at[0] + first * nest.row_steps[0];
    Pairs<T, count, neighbours> pairs[most_heads];
#pragma unroll
    for (int k = 0; k < most_heads; ++k)
      if (k < heads.count) pairs[k].load(nest, from + k * heads.steps[1]);
    const auto sin = angles<T, count>(nest, base, 0, position, first),
               cos = angles<T, count>(nest, base, 1, position, first);
#pragma unroll
    for (int k = 0; k < most_heads; ++k)
      if (k < heads.count) pairs[k].store(nest, to + k * heads.steps[0], sin, cos);
  }
}

}  // namespace infini::gpu
