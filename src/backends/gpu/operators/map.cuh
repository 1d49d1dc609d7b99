// Elementwise kernels: any strides, vectors of 16 bytes where elements lie together.
#pragma once

#include "backends/gpu/operators/packs.cuh"

namespace infini::gpu {

// The constants of formulas in f32: what divides them is inverted in one instruction where the vendor has it. (Quotients of
// two elements are no such division.)
struct Constant {
  float value;
  __device__ explicit Constant(double x) : value(static_cast<float>(x)) {}
};
__device__ inline float operator+(Constant c, float x) { return c.value + x; }
__device__ inline float operator*(Constant c, float x) { return c.value * x; }
__device__ inline float operator*(float x, Constant c) { return c.value * x; }
__device__ inline float operator/(Constant c, float x) { return c.value * near_inverse(x); }

template <class Number, class Constants = Number, bool is_integer = false>
struct DeviceMath {
  using Scalar = Constants;
  static constexpr bool integers = is_integer;
  static __device__ Number exp(Number x) { return ::exp(x); }
  static __device__ Number erfc(Number x) { return ::erfc(x); }
};

// What elements of a type are computed with: numbers of the sums' type; integers wrap around, without signs, and not in
// int, which short ones become by themselves.
template <class T>
struct MapType {
  using Wide = float;
  using Math = DeviceMath<float, Constant>;
};
template <>
struct MapType<double> {
  using Wide = double;
  using Math = DeviceMath<double>;
};
template <>
struct MapType<uint8_t> {
  using Wide = uint32_t;
  using Math = DeviceMath<Wide, Wide, true>;
};
template <>
struct MapType<uint16_t> : MapType<uint8_t> {};
template <>
struct MapType<uint32_t> : MapType<uint8_t> {};
template <>
struct MapType<uint64_t> {
  using Wide = uint64_t;
  using Math = DeviceMath<Wide, Wide, true>;
};

template <Function f>
struct FunctionTag {
  static constexpr Function function = f;
};
// use(FunctionTag<function>{}) for one of those with so many operands: asked once for all elements.
template <class Math, int operands, int i = 0, class Use>
__device__ void with_function(Function function, Use&& use) {
  if constexpr (i < elementwise_count) {
    if constexpr (functions[i].operands == operands && functions[i].takes != Takes::anything &&
                  (!Math::integers || functions[i].takes != Takes::floats)) {
      if (static_cast<int>(function) == i) return use(FunctionTag<static_cast<Function>(i)>{});
    }
    with_function<Math, operands, i + 1>(function, use);
  }
}

template <Function function, class T, int count>
__device__ Pack<T, count> computed(const Pack<T, count>& a, const Pack<T, count>& b) {
  using Math = typename MapType<T>::Math;
  if constexpr (Math::integers) {
    using Wide = typename MapType<T>::Wide;
    return Pack<T, count>::made_of([&](int i) {
      return static_cast<T>(
          formula<function, Math>(static_cast<Wide>(a.at(i)), static_cast<Wide>(b.at(i))));
    });
  } else {
    Numbers<T, count> c;
#pragma unroll
    for (int i = 0; i < count; ++i)
      c.v[i] = formula<function, Math>(widened(a.at(i)), widened(b.at(i)));
    return rounded_pack<T, count>(c);
  }
}

// Units of `count` elements: `per_row` of each row.
template <class T, int count, int operands>
__global__ void __launch_bounds__(operator_threads)
    map_elements(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                 uint32_t units) {
  wait_for_predecessor();
  constexpr int second = operands - 1;
  const UnitWalk walk = make_walk(units);
  for (uint32_t begin = walk.begin; begin < units; begin += walk.stride) {
    Pack<T, count> a[units_at_once], b[units_at_once];
    char* to[units_at_once];
#pragma unroll
    for (int k = 0; k < units_at_once; ++k) {
      const uint32_t unit = begin + static_cast<uint32_t>(k) * walk.step;
      if (unit >= units) continue;
      const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
      uint32_t index;
      const auto place = place_operator_row<operands>(nest, base, row, index);
      a[k] = load_pack<T, count>(place.at[1], nest.row_steps[1], first);
      if constexpr (operands > 2)
        b[k] = load_pack<T, count>(place.at[second], nest.row_steps[second], first);
      to[k] = place.at[0] + first * nest.row_steps[0];
    }
    with_function<typename MapType<T>::Math, operands>(nest.function, [&](auto tag) {
#pragma unroll
      for (int k = 0; k < units_at_once; ++k)
        if (begin + static_cast<uint32_t>(k) * walk.step < units)
          *reinterpret_cast<Pack<T, count>*>(to[k]) =
              computed<decltype(tag)::function, T, count>(a[k], operands > 2 ? b[k] : a[k]);
    });
  }
}

}  // namespace infini::gpu
