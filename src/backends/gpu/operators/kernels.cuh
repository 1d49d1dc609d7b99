// Kernels of elementwise and row operators in plain CUDA: any strides, vectors of 16 bytes where elements lie together.
#pragma once

#include <cmath>
#include <cstring>

#include "backends/gpu/gemm/arithmetic.cuh"
#include "backends/gpu/operators/nest.h"

namespace infini::gpu {

constexpr int operator_threads = 256;

// Elements that are loaded and stored at once.
template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T v[count];
};

// `count` > 1: they lie together, or all are the same (a step of 0).
template <class T, int count>
__device__ Pack<T, count> load_pack(const char* row, int64_t step, uint32_t first) {
  if constexpr (count > 1) {
    if (step != 0) return *reinterpret_cast<const Pack<T, count>*>(row + first * sizeof(T));
  }
  Pack<T, count> pack;
  const T one = *reinterpret_cast<const T*>(row + first * step);
#pragma unroll
  for (int i = 0; i < count; ++i) pack.v[i] = one;
  return pack;
}
template <class T, int count>
__device__ void store_pack(char* row, int64_t step, uint32_t first, const Pack<T, count>& pack) {
  *reinterpret_cast<Pack<T, count>*>(row + first * step) = pack;
}

template <class Sum>
__device__ Sum logistic(Sum x) {
  return Sum(1) / (Sum(1) + exp(-x));
}

template <class Sum>
__device__ Sum apply(Function function, Sum a, Sum b) {
  switch (function) {
    case Function::add: return a + b;
    case Function::sub: return a - b;
    case Function::mul: return a * b;
    case Function::swiglu: return a * b * logistic(b);
    case Function::silu: return a * logistic(a);
    case Function::gelu: return Sum(0.5) * a * erfc(-a * Sum(0.70710678118654752));
    case Function::relu: return a < Sum(0) ? Sum(0) : a;
    default: return logistic(a);
  }
}

template <class T>
__device__ T computed(Function function, T a, T b) {
  if constexpr (sizeof(T) > 0) {
    T result;
    round_to(result, apply<SumOf<T>>(function, widened(a), widened(b)));
    return result;
  }
}
// Integers wrap around: computed without signs.
template <class U>
__device__ U computed_integer(Function function, U a, U b) {
  return static_cast<U>(function == Function::add   ? a + b
                        : function == Function::sub ? a - b
                                                    : a * b);
}
__device__ inline uint8_t computed(Function f, uint8_t a, uint8_t b) {
  return computed_integer(f, a, b);
}
__device__ inline uint16_t computed(Function f, uint16_t a, uint16_t b) {
  return computed_integer(f, a, b);
}
__device__ inline uint32_t computed(Function f, uint32_t a, uint32_t b) {
  return computed_integer(f, a, b);
}
__device__ inline uint64_t computed(Function f, uint64_t a, uint64_t b) {
  return computed_integer(f, a, b);
}

// Units of `count` elements: `per_row` of each row.
template <class T, int count, int operands>
__global__ void __launch_bounds__(operator_threads)
    map_elements(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                 uint32_t units) {
  wait_for_predecessor();
  constexpr int second = operands - 1;
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
    uint32_t index;
    const auto place = place_operator_row<operands>(nest, base, row, index);
    const auto a = load_pack<T, count>(place.at[1], nest.row_steps[1], first);
    const auto b = load_pack<T, count>(place.at[second], nest.row_steps[second], first);
    Pack<T, count> c;
#pragma unroll
    for (int i = 0; i < count; ++i) c.v[i] = computed(nest.function, a.v[i], b.v[i]);
    store_pack(place.at[0], nest.row_steps[0], first, c);
  }
}

// The sum (or the largest) over the block's threads, for all of them.
template <class Sum, class Join>
__device__ Sum over_block(Sum mine, Join join) {
  auto* all = reinterpret_cast<Sum*>(shared_memory());
  all[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = operator_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] = join(all[threadIdx.x], all[threadIdx.x + half]);
    __syncthreads();
  }
  const Sum result = all[0];
  __syncthreads();
  return result;
}

template <class T>
__device__ SumOf<T> element(const char* row, int64_t step, uint32_t i) {
  return widened(*reinterpret_cast<const T*>(row + i * step));
}

// body(first element) for this thread's vectors of a row. (Keeping them in registers between the passes costs more than
// reading them again from the cache: 62 instead of 48 us for 8192 rows of 4096 bf16 on an H200.)
template <int count, class Body>
__device__ void over_row(uint32_t length, Body body) {
  for (uint32_t i = threadIdx.x * count; i < length; i += operator_threads * count) body(i);
}

// A block for each row. `count` elements at once where they lie together.
template <class T, class W, int count>
__global__ void __launch_bounds__(operator_threads)
    norm_rows(const __grid_constant__ RowNest nest, RowPointers base) {
  using Sum = SumOf<T>;
  wait_for_predecessor();
  for (uint32_t row = blockIdx.x; row < nest.rows; row += gridDim.x) {
    uint32_t index;
    const auto place = place_operator_row<3>(nest, base, row, index);
    Sum squares = 0;
    over_row<count>(nest.length, [&](uint32_t i) {
      const auto x = load_pack<T, count>(place.at[1], nest.row_steps[1], i);
#pragma unroll
      for (int k = 0; k < count; ++k) squares += widened(x.v[k]) * widened(x.v[k]);
    });
    const Sum sum = over_block(squares, [](Sum a, Sum b) { return a + b; });
    const Sum factor =
        Sum(1) / sqrt(sum / static_cast<Sum>(nest.length) + static_cast<Sum>(nest.epsilon));
    over_row<count>(nest.length, [&](uint32_t i) {
      const auto x = load_pack<T, count>(place.at[1], nest.row_steps[1], i);
      const auto w = load_pack<W, count>(place.at[2], nest.row_steps[2], i);
      Pack<T, count> y;
#pragma unroll
      for (int k = 0; k < count; ++k)
        round_to(y.v[k], widened(x.v[k]) * factor * static_cast<Sum>(widened(w.v[k])));
      store_pack(place.at[0], nest.row_steps[0], i, y);
    });
  }
}

// Not a number stays.
template <class Sum>
__device__ Sum larger(Sum a, Sum b) {
  return a != a || a > b ? a : b;
}

// `count` elements at once where they lie together; the last ones of what a row sees may be fewer.
template <class T, int count>
__global__ void __launch_bounds__(operator_threads)
    softmax_rows(const __grid_constant__ RowNest nest, RowPointers base) {
  using Sum = SumOf<T>;
  wait_for_predecessor();
  for (uint32_t row = blockIdx.x; row < nest.rows; row += gridDim.x) {
    uint32_t index;
    const auto place = place_operator_row<2>(nest, base, row, index);
    const uint32_t seen = nest.length - nest.extents[0].divisor + index + 1;
    Sum most = -INFINITY, sum = 0;
    over_row<count>(seen, [&](uint32_t i) {
      const auto x = load_pack<T, count>(place.at[1], nest.row_steps[1], i);
#pragma unroll
      for (int k = 0; k < count; ++k)
        if (i + k < seen) most = larger<Sum>(widened(x.v[k]), most);
    });
    most = over_block(most, [](Sum a, Sum b) { return larger(a, b); });
    over_row<count>(seen, [&](uint32_t i) {
      const auto x = load_pack<T, count>(place.at[1], nest.row_steps[1], i);
#pragma unroll
      for (int k = 0; k < count; ++k)
        if (i + k < seen) sum += exp(widened(x.v[k]) - most);
    });
    sum = over_block(sum, [](Sum a, Sum b) { return a + b; });
    const Sum factor = Sum(1) / sum;
    over_row<count>(nest.length, [&](uint32_t i) {
      const auto x = load_pack<T, count>(place.at[1], nest.row_steps[1], i);
      Pack<T, count> y;
#pragma unroll
      for (int k = 0; k < count; ++k)
        round_to(y.v[k], i + k < seen ? exp(widened(x.v[k]) - most) * factor : Sum(0));
      store_pack(place.at[0], nest.row_steps[0], i, y);
    });
  }
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

// `count` pairs for each thread: first and second elements lie together (count > 1), or anywhere.
template <class T, int count>
__global__ void __launch_bounds__(operator_threads)
    rotate_pairs(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                 uint32_t units) {
  using Sum = SumOf<T>;
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), i = (unit - row * per_row.divisor) * count;
    uint32_t index;
    const auto place = place_operator_row<5>(nest, base, row, index);
    const int64_t position = integer_at(place.at[2], nest.dtypes[2]);
    const bool inside = position >= 0 && position < nest.table_rows;
    const int64_t at = inside ? position : 0;
    const auto a = load_pack<T, count>(place.at[1], nest.row_steps[1], i),
               b = load_pack<T, count>(place.at[1] + nest.pair_steps[1], nest.row_steps[1], i),
               s = load_pack<T, count>(place.at[3] + at * nest.table_steps[0], nest.row_steps[3],
                                       i),
               c = load_pack<T, count>(place.at[4] + at * nest.table_steps[1], nest.row_steps[4],
                                       i);
    Pack<T, count> p, q;
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const Sum x = widened(a.v[k]), y = widened(b.v[k]), sn = widened(s.v[k]),
                cs = widened(c.v[k]);
      round_to(p.v[k], inside ? x * cs - y * sn : Sum(NAN));
      round_to(q.v[k], inside ? x * sn + y * cs : Sum(NAN));
    }
    store_pack(place.at[0], nest.row_steps[0], i, p);
    store_pack(place.at[0] + nest.pair_steps[0], nest.row_steps[0], i, q);
  }
}

}  // namespace infini::gpu
