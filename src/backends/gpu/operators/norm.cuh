// RMSNorm: one group of threads for each row.
#pragma once

#include "backends/gpu/operators/rows.cuh"

namespace infini::gpu {

template <class T, int count>
__device__ SumOf<T> squares_of(const Pack<T, count>& x) {
  SumOf<T> sum = 0;
#pragma unroll
  for (int k = 0; k < count; ++k) sum += widened(x.at(k)) * widened(x.at(k));
  return sum;
}

template <class T, class W, int count>
__device__ Pack<T, count> scaled(const Pack<T, count>& x, const Pack<W, count>& w,
                                 SumOf<T> factor) {
  Numbers<T, count> y;
#pragma unroll
  for (int k = 0; k < count; ++k)
    y.v[k] = widened(x.at(k)) * factor * static_cast<SumOf<T>>(widened(w.at(k)));
  return rounded_pack<T, count>(y);
}

template <class Sum>
__device__ Sum norm_factor(const RowNest& nest, uint32_t group, Sum squares) {
  const Sum sum = over_group(squares, group, 0, [](Sum a, Sum b) { return a + b; });
  return Sum(1) / sqrt(sum / static_cast<Sum>(nest.length) + static_cast<Sum>(nest.epsilon));
}

// `count` elements at once where they lie together; held rows are read once. Short ones' weights are fetched before they
// are needed.
template <class T, class W, int count, int packs>
__global__ void __launch_bounds__(operator_threads)
    norm_rows(const __grid_constant__ RowNest nest, RowPointers base, RowSchedule schedule) {
  using Sum = SumOf<T>;
  constexpr bool ahead = packs == held_packs;
  wait_for_predecessor();
  const GroupRow mine = group_row(schedule, nest.rows);
  uint32_t index;
  const auto place = place_operator_row<3>(nest, base, mine.row, index);
  const RowPart<count> part{schedule.group, mine.own, mine.exists ? nest.length : 0};
  const auto fetch = [&](uint32_t i) {
    return load_pack<T, count>(place.at[1], nest.row_steps[1], i);
  };
  const auto weights = [&](uint32_t i) {
    return load_pack<W, count>(place.at[2], nest.row_steps[2], i);
  };
  Sum squares = 0;
  if (schedule.held) {
    Pack<T, count> x[packs];
    Pack<W, count> w[packs];
    part.template held<packs>([&](int k, uint32_t i) { x[k] = fetch(i); });
    if constexpr (ahead) part.template held<packs>([&](int k, uint32_t i) { w[k] = weights(i); });
    part.template held<packs>([&](int k, uint32_t) { squares += squares_of(x[k]); });
    const Sum factor = norm_factor(nest, schedule.group, squares);
    part.template held<packs>([&](int k, uint32_t i) {
      if constexpr (!ahead) w[k] = weights(i);
      store_pack(place.at[0], nest.row_steps[0], i, scaled(x[k], w[k], factor));
    });
  } else {
    part.each(nest.length, [&](uint32_t i) { squares += squares_of(fetch(i)); });
    const Sum factor = norm_factor(nest, schedule.group, squares);
    part.each(nest.length, [&](uint32_t i) {
      store_pack(place.at[0], nest.row_steps[0], i, scaled(fetch(i), weights(i), factor));
    });
  }
}

}  // namespace infini::gpu
