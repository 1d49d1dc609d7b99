// Elements that are loaded, computed with and stored together, and how blocks divide what there is.
#pragma once

#include <cmath>
#include <cstring>

#include "backends/gpu/gemm/arithmetic.cuh"
#include "backends/gpu/operators/nest.h"

namespace infini::gpu {

constexpr int operator_threads = 256;
// So many units of each thread are fetched before the first of them is needed.
constexpr int units_at_once = 4;

__device__ inline uint32_t code_of(Half x) { return x.bits; }
__device__ inline uint32_t code_of(Bfloat x) { return x.bits; }
__device__ inline uint32_t code_of(uint16_t x) { return x; }

// Elements that are loaded and stored at once. Those of two bytes are held in pairs, the first in the lower half: compilers
// would keep each of them in a register, and load no more than four at once.
template <class T, int count, bool in_pairs = sizeof(T) == 2 && count % 2 == 0>
struct alignas(sizeof(T) * count) Pack {
  T v[count];
  __device__ T at(int i) const { return v[i]; }
  template <class Get>
  __device__ static Pack made_of(Get get) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < count; ++i) pack.v[i] = get(i);
    return pack;
  }
};
template <class T, int count>
struct alignas(sizeof(T) * count) Pack<T, count, true> {
  uint32_t pairs[count / 2];
  __device__ T at(int i) const {
    return T{static_cast<uint16_t>(i % 2 == 0 ? pairs[i / 2] : pairs[i / 2] >> 16)};
  }
  template <class Get>
  __device__ static Pack made_of(Get get) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < count; i += 2)
      pack.pairs[i / 2] = code_of(get(i)) | code_of(get(i + 1)) << 16;
    return pack;
  }
};
// They as numbers of the sums' type.
template <class T, int count>
struct Numbers {
  SumOf<T> v[count];
};

// `count` > 1: they lie together, or all are the same (a step of 0).
template <class T, int count>
__device__ Pack<T, count> load_pack(const char* row, int64_t step, uint32_t first) {
  if constexpr (count > 1) {
    if (step != 0) return *reinterpret_cast<const Pack<T, count>*>(row + first * sizeof(T));
  }
  const T one = *reinterpret_cast<const T*>(row + first * step);
  return Pack<T, count>::made_of([&](int) { return one; });
}
template <class T, int count>
__device__ void store_pack(char* row, int64_t step, uint32_t first, const Pack<T, count>& pack) {
  *reinterpret_cast<Pack<T, count>*>(row + first * step) = pack;
}

template <class T, int count>
__device__ Numbers<T, count> widened_pack(const Pack<T, count>& x) {
  Numbers<T, count> y;
#pragma unroll
  for (int i = 0; i < count; ++i) y.v[i] = widened(x.at(i));
  return y;
}
// Short ones in pairs: one instruction rounds both where the vendor has it.
template <class T, int count>
__device__ Pack<T, count> rounded_pack(const Numbers<T, count>& x) {
  Pack<T, count> y;
  if constexpr (sizeof(T) == 2 && count % 2 == 0) {
#pragma unroll
    for (int i = 0; i < count; i += 2) y.pairs[i / 2] = rounded_pair(T{}, x.v[i], x.v[i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) round_to(y.v[i], x.v[i]);
  }
  return y;
}

// The units of a thread: `at_once` of them, `step` apart, then the same again `stride` further on. Where there is
// something for nearly all of them a block's lie together, so that what neighbours share stays in its cache.
struct UnitWalk {
  uint32_t begin, step, stride;
};
template <int at_once = units_at_once>
__device__ UnitWalk make_walk(uint32_t units) {
  const uint32_t all = gridDim.x * operator_threads;
  const bool together = all * (at_once - 1) < units;
  const uint32_t first = blockIdx.x * operator_threads * (together ? at_once : 1);
  return {first + threadIdx.x, together ? operator_threads : all, all * at_once};
}

__device__ inline int64_t integer_at(const char* p, infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_I8: return *reinterpret_cast<const int8_t*>(p);
    case INFINI_DTYPE_I16: return *reinterpret_cast<const int16_t*>(p);
    case INFINI_DTYPE_I32: return *reinterpret_cast<const int32_t*>(p);
    case INFINI_DTYPE_U8: return *reinterpret_cast<const uint8_t*>(p);
    case INFINI_DTYPE_U16: return *reinterpret_cast<const uint16_t*>(p);
    case INFINI_DTYPE_U32: return *reinterpret_cast<const uint32_t*>(p);
    default: return *reinterpret_cast<const int64_t*>(p);
  }
}
__device__ inline void put_integer(char* p, infiniDtype_t dtype, int64_t value) {
  switch (dtype) {
    case INFINI_DTYPE_I8:
    case INFINI_DTYPE_U8: *reinterpret_cast<uint8_t*>(p) = static_cast<uint8_t>(value); return;
    case INFINI_DTYPE_I16:
    case INFINI_DTYPE_U16: *reinterpret_cast<uint16_t*>(p) = static_cast<uint16_t>(value); return;
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32: *reinterpret_cast<uint32_t*>(p) = static_cast<uint32_t>(value); return;
    default: *reinterpret_cast<int64_t*>(p) = value; return;
  }
}

}  // namespace infini::gpu
