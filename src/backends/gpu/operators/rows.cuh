// What kernels that work on whole rows share: a group of threads has a row, in registers where it is short enough.
#pragma once

#include "backends/gpu/operators/packs.cuh"
#include "backends/gpu/operators/row_schedule.h"

namespace infini::gpu {

// What the values of a group's threads join to, for all of them, in a fixed order: neighbours by exchange where the vendor
// has it, the rest through shared memory. All threads of the block call it. `turn` counts the calls: what one reads the
// next but one overwrites.
template <class Sum, class Join>
__device__ Sum over_group(Sum mine, uint32_t group, uint32_t turn, Join join) {
  constexpr uint32_t few = 16;
#pragma unroll
  for (uint32_t bit = 1; bit < joining_lanes; bit *= 2)
    if (bit < group) mine = join(mine, from_lane(mine, bit));
  if (group <= joining_lanes) return mine;
  auto* all = reinterpret_cast<Sum*>(shared_memory()) + (turn % 2) * operator_threads;
  const uint32_t first = threadIdx.x / group * group, own = threadIdx.x - first;
  if (own % joining_lanes == 0) all[first + own / joining_lanes] = mine;
  __syncthreads();
  uint32_t parts = group / joining_lanes;
  if (parts > few) {
    if (own < few) {
      Sum joined = all[threadIdx.x];
      for (uint32_t i = few; i < parts; i += few) joined = join(joined, all[threadIdx.x + i]);
      all[threadIdx.x] = joined;
    }
    __syncthreads();
    parts = few;
  }
  Sum result = all[first];
  for (uint32_t i = 1; i < parts; ++i) result = join(result, all[first + i]);
  return result;
}

// The same over a block whose threads go on to write what others read.
template <class Sum, class Join>
__device__ Sum over_block(Sum mine, Join join) {
  const Sum result = over_group(mine, operator_threads, 0, join);
  __syncthreads();
  return result;
}

template <class T>
__device__ SumOf<T> element(const char* row, int64_t step, uint32_t i) {
  return widened(*reinterpret_cast<const T*>(row + i * step));
}

// This thread's part of a row.
template <int count>
struct RowPart {
  uint32_t group, own, length;

  // body(first element) for its vectors.
  template <class Body>
  __device__ void each(uint32_t end, Body body) const {
    for (uint32_t i = own * count; i < end; i += group * count) body(i);
  }
  // body(k, first element) for the first few of them, all unrolled: what is fetched stays in registers.
  template <int packs, class Body>
  __device__ void held(Body body) const {
#pragma unroll
    for (int k = 0; k < packs; ++k) {
      const uint32_t i = (own + static_cast<uint32_t>(k) * group) * count;
      if (i < length) body(k, i);
    }
  }
};

// The row of this thread's group. Groups behind the last row have none: they only join the others at barriers.
struct GroupRow {
  uint32_t row, own;
  bool exists;
};
__device__ inline GroupRow group_row(const RowSchedule& schedule, uint32_t rows) {
  const uint32_t row = blockIdx.x * schedule.rows_per_block() + threadIdx.x / schedule.group;
  return {row < rows ? row : rows - 1, threadIdx.x % schedule.group, row < rows};
}

}  // namespace infini::gpu
