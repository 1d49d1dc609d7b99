// Causal softmax: one group of threads for each row. Of what a row does not see nothing is read.
#pragma once

#include "backends/gpu/operators/rows.cuh"
#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

__device__ inline float larger(float a, float b) { return larger_or_nan(a, b); }
__device__ inline double larger(double a, double b) { return a != a || a > b ? a : b; }

// e^x for x <= 0. In f32 off by 4 roundings and one more for each unit of x, of which the exponent has log2(e).
__device__ inline float raised(float x) { return near_exp2(x * 1.44269504088896341f); }
__device__ inline double raised(double x) { return exp(x); }

// What a row is made of: elements as numbers, those that it does not see as -infinity.
template <class T, int count>
struct SoftmaxRow {
  using Sum = SumOf<T>;
  const RowNest& nest;
  const OperatorRow<2>& place;
  uint32_t seen;

  __device__ Pack<T, count> fetch(uint32_t i) const {
    return load_pack<T, count>(place.at[1], nest.row_steps[1], i);
  }
  __device__ Numbers<T, count> numbers(const Pack<T, count>& pack, uint32_t i) const {
    auto x = widened_pack(pack);
    if (i + count > seen) {
#pragma unroll
      for (int k = 0; k < count; ++k) x.v[k] = i + k < seen ? x.v[k] : -INFINITY;
    }
    return x;
  }
  __device__ Sum most_of(const Pack<T, count>& pack, uint32_t i, Sum most) const {
    const auto x = numbers(pack, i);
#pragma unroll
    for (int k = 0; k < count; ++k) most = larger(x.v[k], most);
    return most;
  }
  // Their exponentials; those that are not seen are 0, whatever the largest is.
  __device__ Numbers<T, count> raised_all(const Pack<T, count>& pack, uint32_t i, Sum most) const {
    auto x = widened_pack(pack);
#pragma unroll
    for (int k = 0; k < count; ++k) x.v[k] = raised(x.v[k] - most);
    if (i + count > seen) {
#pragma unroll
      for (int k = 0; k < count; ++k) x.v[k] = i + k < seen ? x.v[k] : Sum(0);
    }
    return x;
  }
  __device__ Sum sum_of(const Pack<T, count>& pack, uint32_t i, Sum most) const {
    const auto x = raised_all(pack, i, most);
    Sum sum = 0;
#pragma unroll
    for (int k = 0; k < count; ++k) sum += x.v[k];
    return sum;
  }
  __device__ void store(const Pack<T, count>& pack, uint32_t i, Sum most, Sum factor) const {
    auto x = raised_all(pack, i, most);
#pragma unroll
    for (int k = 0; k < count; ++k) x.v[k] *= factor;
    store_pack(place.at[0], nest.row_steps[0], i, rounded_pack<T, count>(x));
  }
  __device__ void store_nothing(uint32_t i) const {
    store_pack(place.at[0], nest.row_steps[0], i, Pack<T, count>{});
  }
};

// `count` elements at once where they lie together; the last ones of what a row sees may be fewer. Held rows are held as
// they lie and raised twice: more of them fit a processor, which waits less for memory.
template <class T, int count>
__global__ void __launch_bounds__(operator_threads,
                                  resident_blocks(sizeof(T) == 8 ? 2 : 5, operator_threads))
    softmax_rows(const __grid_constant__ RowNest nest, RowPointers base, RowSchedule schedule) {
  using Sum = SumOf<T>;
  wait_for_predecessor();
  const auto largest = [](Sum a, Sum b) { return larger(a, b); };
  const auto added = [](Sum a, Sum b) { return a + b; };
  const GroupRow mine = group_row(schedule, nest.rows);
  uint32_t index;
  const auto place = place_operator_row<2>(nest, base, mine.row, index);
  const SoftmaxRow<T, count> row{nest, place, nest.length - nest.extents[0].divisor + index + 1};
  const RowPart<count> part{schedule.group, mine.own, mine.exists ? nest.length : 0};
  Sum most = -INFINITY, sum = 0;
  if (schedule.held) {
    Pack<T, count> x[held_packs];
    const auto seen = [&](auto body) {
      part.template held<held_packs>([&](int k, uint32_t i) {
        if (i < row.seen) body(k, i);
      });
    };
    seen([&](int k, uint32_t i) { x[k] = row.fetch(i); });
    seen([&](int k, uint32_t i) { most = row.most_of(x[k], i, most); });
    most = over_group(most, schedule.group, 0, largest);
    seen([&](int k, uint32_t i) { sum += row.sum_of(x[k], i, most); });
    const Sum factor = Sum(1) / over_group(sum, schedule.group, 1, added);
    part.template held<held_packs>([&](int k, uint32_t i) {
      if (i < row.seen)
        row.store(x[k], i, most, factor);
      else
        row.store_nothing(i);
    });
  } else {
    part.each(row.seen, [&](uint32_t i) { most = row.most_of(row.fetch(i), i, most); });
    most = over_group(most, schedule.group, 0, largest);
    part.each(row.seen, [&](uint32_t i) { sum += row.sum_of(row.fetch(i), i, most); });
    const Sum factor = Sum(1) / over_group(sum, schedule.group, 1, added);
    part.each(nest.length, [&](uint32_t i) {
      if (i < row.seen)
        row.store(row.fetch(i), i, most, factor);
      else
        row.store_nothing(i);
    });
  }
}

}  // namespace infini::gpu
