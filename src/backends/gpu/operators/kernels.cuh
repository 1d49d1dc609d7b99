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

template <class Number, bool is_integer = false>
struct DeviceMath {
  using Scalar = Number;
  static constexpr bool integers = is_integer;
  static constexpr Number exp(Number x) { return ::exp(x); }
  static constexpr Number erfc(Number x) { return ::erfc(x); }
};

template <int operands, class T>
__device__ T computed(Function function, T a, T b) {
  T result;
  round_to(result, apply<DeviceMath<SumOf<T>>, operands>(function, widened(a), widened(b)));
  return result;
}
// Integers wrap around: computed without signs, and not in int, which short ones become by themselves.
template <int operands, class U, class Wide>
__device__ U computed_integer(Function function, U a, U b) {
  return static_cast<U>(apply<DeviceMath<Wide, true>, operands>(function, static_cast<Wide>(a),
                                                                static_cast<Wide>(b)));
}
template <int operands>
__device__ uint8_t computed(Function f, uint8_t a, uint8_t b) {
  return computed_integer<operands, uint8_t, uint32_t>(f, a, b);
}
template <int operands>
__device__ uint16_t computed(Function f, uint16_t a, uint16_t b) {
  return computed_integer<operands, uint16_t, uint32_t>(f, a, b);
}
template <int operands>
__device__ uint32_t computed(Function f, uint32_t a, uint32_t b) {
  return computed_integer<operands, uint32_t, uint32_t>(f, a, b);
}
template <int operands>
__device__ uint64_t computed(Function f, uint64_t a, uint64_t b) {
  return computed_integer<operands, uint64_t, uint64_t>(f, a, b);
}

// So many units of each thread are fetched before the first of them is needed.
constexpr int units_at_once = 4;

// Units of `count` elements: `per_row` of each row.
template <class T, int count, int operands>
__global__ void __launch_bounds__(operator_threads)
    map_elements(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                 uint32_t units) {
  wait_for_predecessor();
  constexpr int second = operands - 1;
  const uint32_t step = gridDim.x * operator_threads;
  for (uint32_t begin = blockIdx.x * operator_threads + threadIdx.x; begin < units;
       begin += units_at_once * step) {
    Pack<T, count> a[units_at_once], b[units_at_once];
    char* to[units_at_once];
#pragma unroll
    for (int k = 0; k < units_at_once; ++k) {
      const uint32_t unit = begin + static_cast<uint32_t>(k) * step;
      if (unit >= units) continue;
      const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
      uint32_t index;
      const auto place = place_operator_row<operands>(nest, base, row, index);
      a[k] = load_pack<T, count>(place.at[1], nest.row_steps[1], first);
      b[k] = load_pack<T, count>(place.at[second], nest.row_steps[second], first);
      to[k] = place.at[0] + first * nest.row_steps[0];
    }
#pragma unroll
    for (int k = 0; k < units_at_once; ++k) {
      if (begin + static_cast<uint32_t>(k) * step >= units) continue;
      Pack<T, count> c;
#pragma unroll
      for (int i = 0; i < count; ++i)
        c.v[i] = computed<operands>(nest.function, a[k].v[i], b[k].v[i]);
      *reinterpret_cast<Pack<T, count>*>(to[k]) = c;
    }
  }
}

// The sum (or the largest) over the block's threads, for all of them, joined in a fixed order: some threads join what
// many have, then each joins what those few have.
template <class Sum, class Join>
__device__ Sum over_block(Sum mine, Join join) {
  constexpr unsigned few = 16;
  auto* all = reinterpret_cast<Sum*>(shared_memory());
  all[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x < few) {
    Sum joined = all[threadIdx.x];
#pragma unroll
    for (unsigned i = few; i < operator_threads; i += few)
      joined = join(joined, all[threadIdx.x + i]);
    all[threadIdx.x] = joined;
  }
  __syncthreads();
  Sum result = all[0];
#pragma unroll
  for (unsigned i = 1; i < few; ++i) result = join(result, all[i]);
  __syncthreads();
  return result;
}

template <class T>
__device__ SumOf<T> element(const char* row, int64_t step, uint32_t i) {
  return widened(*reinterpret_cast<const T*>(row + i * step));
}

// body(first element) for this thread's vectors of a row.
template <int count, class Body>
__device__ void over_row(uint32_t length, Body body) {
  for (uint32_t i = threadIdx.x * count; i < length; i += operator_threads * count) body(i);
}
// body(k, first element) for the first few of them, all unrolled: what is fetched stays in registers.
constexpr int held_packs = 4;
template <int count, class Body>
__device__ void over_held(uint32_t length, Body body) {
#pragma unroll
  for (int k = 0; k < held_packs; ++k) {
    const uint32_t i = (threadIdx.x + static_cast<uint32_t>(k) * operator_threads) * count;
    if (i < length) body(k, i);
  }
}
template <int count>
__device__ bool is_held(uint32_t length) {
  return count > 1 && length <= held_packs * operator_threads * count;
}

template <class T, int count>
__device__ SumOf<T> squares_of(const Pack<T, count>& x) {
  SumOf<T> sum = 0;
#pragma unroll
  for (int k = 0; k < count; ++k) sum += widened(x.v[k]) * widened(x.v[k]);
  return sum;
}

template <class T, class W, int count>
__device__ void store_scaled(const RowNest& nest, const OperatorRow<3>& place, uint32_t i,
                             const Pack<T, count>& x, SumOf<T> factor) {
  const auto w = load_pack<W, count>(place.at[2], nest.row_steps[2], i);
  Pack<T, count> y;
#pragma unroll
  for (int k = 0; k < count; ++k)
    round_to(y.v[k], widened(x.v[k]) * factor * static_cast<SumOf<T>>(widened(w.v[k])));
  store_pack(place.at[0], nest.row_steps[0], i, y);
}

template <class Sum>
__device__ Sum norm_factor(const RowNest& nest, Sum squares) {
  const Sum sum = over_block(squares, [](Sum a, Sum b) { return a + b; });
  return Sum(1) / sqrt(sum / static_cast<Sum>(nest.length) + static_cast<Sum>(nest.epsilon));
}

// A block for each row. `count` elements at once where they lie together; rows of some thousand elements are read once.
template <class T, class W, int count>
__global__ void __launch_bounds__(operator_threads)
    norm_rows(const __grid_constant__ RowNest nest, RowPointers base) {
  using Sum = SumOf<T>;
  wait_for_predecessor();
  for (uint32_t row = blockIdx.x; row < nest.rows; row += gridDim.x) {
    uint32_t index;
    const auto place = place_operator_row<3>(nest, base, row, index);
    const auto fetch = [&](uint32_t i) {
      return load_pack<T, count>(place.at[1], nest.row_steps[1], i);
    };
    Sum squares = 0;
    if (is_held<count>(nest.length)) {
      Pack<T, count> x[held_packs];
      over_held<count>(nest.length, [&](int k, uint32_t i) { x[k] = fetch(i); });
      over_held<count>(nest.length, [&](int k, uint32_t) { squares += squares_of(x[k]); });
      const Sum factor = norm_factor(nest, squares);
      over_held<count>(nest.length, [&](int k, uint32_t i) {
        store_scaled<T, W, count>(nest, place, i, x[k], factor);
      });
    } else {
      over_row<count>(nest.length, [&](uint32_t i) { squares += squares_of(fetch(i)); });
      const Sum factor = norm_factor(nest, squares);
      over_row<count>(nest.length, [&](uint32_t i) {
        store_scaled<T, W, count>(nest, place, i, fetch(i), factor);
      });
    }
  }
}

// Not a number stays.
template <class Sum>
__device__ Sum larger(Sum a, Sum b) {
  return a != a || a > b ? a : b;
}

// What a row of softmax is made of: elements as numbers, those that it does not see as -infinity.
template <class T, int count>
struct SoftmaxRow {
  using Sum = SumOf<T>;
  const RowNest& nest;
  const OperatorRow<2>& place;
  uint32_t seen;
  struct Numbers {
    Sum v[count];
  };

  __device__ Numbers fetch(uint32_t i) const {
    Numbers x;
    if (i >= seen) {
#pragma unroll
      for (int k = 0; k < count; ++k) x.v[k] = -INFINITY;
      return x;
    }
    const auto pack = load_pack<T, count>(place.at[1], nest.row_steps[1], i);
#pragma unroll
    for (int k = 0; k < count; ++k) x.v[k] = i + k < seen ? Sum(widened(pack.v[k])) : -INFINITY;
    return x;
  }
  __device__ static Sum most_of(const Numbers& x, Sum most) {
#pragma unroll
    for (int k = 0; k < count; ++k) most = larger<Sum>(x.v[k], most);
    return most;
  }
  // They become exponentials; returns their sum.
  __device__ Sum raise(Numbers& x, uint32_t i, Sum most) const {
    Sum sum = 0;
#pragma unroll
    for (int k = 0; k < count; ++k) {
      x.v[k] = i + k < seen ? exp(x.v[k] - most) : Sum(0);
      sum += x.v[k];
    }
    return sum;
  }
  __device__ void store(uint32_t i, const Numbers& x, Sum factor) const {
    Pack<T, count> y;
#pragma unroll
    for (int k = 0; k < count; ++k) round_to(y.v[k], x.v[k] * factor);
    store_pack(place.at[0], nest.row_steps[0], i, y);
  }
};

// `count` elements at once where they lie together; the last ones of what a row sees may be fewer.
template <class T, int count>
__global__ void __launch_bounds__(operator_threads)
    softmax_rows(const __grid_constant__ RowNest nest, RowPointers base) {
  using Row = SoftmaxRow<T, count>;
  using Sum = SumOf<T>;
  wait_for_predecessor();
  const auto largest = [](Sum a, Sum b) { return larger(a, b); };
  const auto added = [](Sum a, Sum b) { return a + b; };
  for (uint32_t number = blockIdx.x; number < nest.rows; number += gridDim.x) {
    uint32_t index;
    const auto place = place_operator_row<2>(nest, base, number, index);
    const Row row{nest, place, nest.length - nest.extents[0].divisor + index + 1};
    Sum most = -INFINITY, sum = 0;
    if (is_held<count>(nest.length)) {
      typename Row::Numbers x[held_packs];
      over_held<count>(nest.length, [&](int k, uint32_t i) { x[k] = row.fetch(i); });
      over_held<count>(nest.length, [&](int k, uint32_t) { most = Row::most_of(x[k], most); });
      most = over_block(most, largest);
      over_held<count>(nest.length, [&](int k, uint32_t i) { sum += row.raise(x[k], i, most); });
      const Sum factor = Sum(1) / over_block(sum, added);
      over_held<count>(nest.length, [&](int k, uint32_t i) { row.store(i, x[k], factor); });
    } else {
      over_row<count>(row.seen, [&](uint32_t i) { most = Row::most_of(row.fetch(i), most); });
      most = over_block(most, largest);
      over_row<count>(row.seen, [&](uint32_t i) {
        auto x = row.fetch(i);
        sum += row.raise(x, i, most);
      });
      const Sum factor = Sum(1) / over_block(sum, added);
      over_row<count>(nest.length, [&](uint32_t i) {
        auto x = row.fetch(i);
        row.raise(x, i, most);
        row.store(i, x, factor);
      });
    }
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
    const auto a = load_pack<T, count>(place.at[1], nest.row_steps[1], i),
               b = load_pack<T, count>(place.at[1] + nest.pair_steps[1], nest.row_steps[1], i);
    Pack<T, count> s = a, c = a, p, q;
    if (inside) {  // tables may have no rows
      s = load_pack<T, count>(place.at[3] + position * nest.table_steps[0], nest.row_steps[3], i);
      c = load_pack<T, count>(place.at[4] + position * nest.table_steps[1], nest.row_steps[4], i);
    }
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
