// Convert: what is read becomes an f32 (or an f64 where one side needs it), is multiplied and added once, and rounded to y's format.
#pragma once

#include <climits>

#include "backends/gpu/operators/packs.cuh"
#include "plan/operators/convert_plan.h"

namespace infini::gpu {

struct ConvertNumbers {
  Format y = Format::u8, x = Format::u8;
  bool wide = false, computes = false, saturates = false;
  bool along[2] = {};
  double scale = 1, shift = 0;
  // A dim that is not one of the nest's: few elements that one thread has, or, of tiles, the one along which x lies together.
  uint32_t planes = 1;
  int64_t plane_steps[4] = {};
  bool tiles = false;
};

// Elements as they lie, each with an address.
template <class T, int count>
struct alignas(sizeof(T) * count > 16 ? 16 : sizeof(T) * count) RawPack {
  T v[count];
};

// Elements at any address that is a multiple of their size. They may lie in a word of another type, which the compiler
// may take for another place unless they are copied.
template <class T>
__device__ T element_at(const char* p) {
  T value;
  memcpy(&value, __builtin_assume_aligned(p, sizeof(T)), sizeof(T));
  return value;
}

template <class Number>
__device__ Number read_number(const char* p, Format format) {
  switch (format) {
    case Format::u8: return static_cast<Number>(element_at<uint8_t>(p));
    case Format::i8: return static_cast<Number>(element_at<int8_t>(p));
    case Format::u16: return static_cast<Number>(element_at<uint16_t>(p));
    case Format::i16: return static_cast<Number>(element_at<int16_t>(p));
    case Format::e4m3: return f32_from_f8(element_at<uint8_t>(p));
    case Format::e5m2: return f32_from_e5m2(element_at<uint8_t>(p));
    case Format::f16: return f32_from_f16(element_at<uint16_t>(p));
    case Format::bf16: return f32_from_bf16(element_at<uint16_t>(p));
    case Format::f32: return element_at<float>(p);
    case Format::i32: return static_cast<Number>(element_at<int32_t>(p));
    case Format::u32: return static_cast<Number>(element_at<uint32_t>(p));
    default: return static_cast<Number>(element_at<double>(p));
  }
}

// Rounded to nearest even, saturated; NaN is 0.
template <class Integer, class Number>
__device__ void put_whole(char* p, Number x, Number least, Number most) {
  const Number rounded = x != x ? Number(0) : x < least ? least : x > most ? most : rint(x);
  *reinterpret_cast<Integer*>(p) = static_cast<Integer>(rounded);
}

// `largest`: the code of the largest finite number, after which comes what stands for more.
template <class Code>
__device__ void put_code(char* p, Code code, Code largest, bool saturates, bool number) {
  const Code magnitude = static_cast<Code>(code & (Code(~Code(0)) >> 1));
  *reinterpret_cast<Code*>(p) =
      saturates && number && magnitude > largest ? static_cast<Code>(code - 1) : code;
}

// To formats whose numbers are all f32; `x` rounds to them as the number itself does.
__device__ inline void put_narrow(char* p, Format format, float x, bool saturates) {
  const bool number = x == x;
  switch (format) {
    case Format::u8: return put_whole<uint8_t>(p, x, 0.0f, 255.0f);
    case Format::i8: return put_whole<int8_t>(p, x, -128.0f, 127.0f);
    case Format::u16: return put_whole<uint16_t>(p, x, 0.0f, 65535.0f);
    case Format::i16: return put_whole<int16_t>(p, x, -32768.0f, 32767.0f);
    case Format::e4m3: return put_code<uint8_t>(p, f8_from_f32(x), 0x7e, saturates, number);
    case Format::e5m2: return put_code<uint8_t>(p, e5m2_from_f32(x), 0x7b, saturates, number);
    case Format::f16: return put_code<uint16_t>(p, f16_from_f32(x), 0x7bff, saturates, number);
    case Format::bf16: return put_code<uint16_t>(p, bf16_from_f32(x), 0x7f7f, saturates, number);
    default: {
      uint32_t code;
      memcpy(&code, &x, sizeof code);
      return put_code<uint32_t>(p, code, 0x7f7fffff, saturates, number);
    }
  }
}

__device__ inline void put_wide(char* p, Format format, double x, bool saturates) {
  switch (format) {
    case Format::i32: return put_whole<int32_t>(p, x, -2147483648.0, 2147483647.0);
    case Format::u32: return put_whole<uint32_t>(p, x, 0.0, 4294967295.0);
    case Format::f32: return put_narrow(p, format, static_cast<float>(x), saturates);
    case Format::f64: {
      uint64_t code;
      memcpy(&code, &x, sizeof code);
      return put_code<uint64_t>(p, code, 0x7fefffffffffffff, saturates, x == x);
    }
    default: return put_narrow(p, format, to_odd({Exact::real, x, 0}), saturates);
  }
}

__device__ inline double number_along(const char* p, bool along, double otherwise) {
  return along ? element_at<float>(p) : otherwise;
}

// scale and shift of the element at these places.
struct ScaleShift {
  double scale, shift;
};
__device__ inline ScaleShift numbers_at(const ConvertNumbers& numbers, const char* scale,
                                        const char* shift) {
  return {number_along(scale, numbers.along[0], numbers.scale),
          number_along(shift, numbers.along[1], numbers.shift)};
}

__device__ inline void convert_one(char* y, const char* x, const ConvertNumbers& numbers,
                                   const ScaleShift& by) {
  if (numbers.wide) {
    double value = read_number<double>(x, numbers.x);
    if (numbers.computes) value = fma(value, by.scale, by.shift);
    put_wide(y, numbers.y, value, numbers.saturates);
  } else {
    float value = read_number<float>(x, numbers.x);
    if (numbers.computes)
      value = fmaf(value, static_cast<float>(by.scale), static_cast<float>(by.shift));
    put_narrow(y, numbers.y, value, numbers.saturates);
  }
}

// One element of each of `numbers.planes` planes at a time: pixels, whose channels lie together in x, come from memory once.
static __global__ void __launch_bounds__(operator_threads)
    convert_elements(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                     uint32_t units, ConvertNumbers numbers) {
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), i = unit - row * per_row.divisor;
    uint32_t index;
    auto place = place_operator_row<4>(nest, base, row, index);
#pragma unroll
    for (int k = 0; k < 4; ++k) place.at[k] += i * nest.row_steps[k];
    for (uint32_t plane = 0; plane < numbers.planes; ++plane) {
      ScaleShift by{1, 0};
      if (numbers.computes) by = numbers_at(numbers, place.at[2], place.at[3]);
      convert_one(place.at[0], place.at[1], numbers, by);
#pragma unroll
      for (int k = 0; k < 4; ++k) place.at[k] += numbers.plane_steps[k];
    }
  }
}

// A whole pack of words of one size, so that what format they have is asked once.
template <class Number, class X, int count>
__device__ void read_pack(Number (&v)[count], const RawPack<X, count>& x, Format format) {
  const auto all = [&](auto number) {
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = static_cast<Number>(number(x.v[i]));
  };
  if constexpr (sizeof(X) == 1) {
    if (format == Format::u8) return all([](X c) { return c; });
    if (format == Format::i8) return all([](X c) { return static_cast<int8_t>(c); });
    if (format == Format::e4m3) return all([](X c) { return f32_from_f8(c); });
    return all([](X c) { return f32_from_e5m2(c); });
  } else if constexpr (sizeof(X) == 2) {
    if (format == Format::u16) return all([](X c) { return c; });
    if (format == Format::i16) return all([](X c) { return static_cast<int16_t>(c); });
    if (format == Format::f16) return all([](X c) { return f32_from_f16(c); });
    return all([](X c) { return f32_from_bf16(c); });
  } else if constexpr (sizeof(X) == 4) {
    if (format == Format::u32) return all([](X c) { return c; });
    if (format == Format::i32) return all([](X c) { return static_cast<int32_t>(c); });
    return all([](X c) {
      float f;
      memcpy(&f, &c, sizeof f);
      return f;
    });
  } else {
    return all([](X c) {
      double d;
      memcpy(&d, &c, sizeof d);
      return d;
    });
  }
}

// The words that numbers of a known size are rounded to.
template <class Y, class Number, int count>
__device__ void put_pack(RawPack<Y, count>& y, const Number (&v)[count],
                         const ConvertNumbers& numbers) {
  const auto all = [&](auto format) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      char* const p = reinterpret_cast<char*>(&y.v[i]);
      if constexpr (sizeof(Number) == 8)
        put_wide(p, format(), v[i], numbers.saturates);
      else
        put_narrow(p, format(), v[i], numbers.saturates);
    }
  };
  if constexpr (sizeof(Y) == 1) {
    if (numbers.y == Format::u8) return all([] { return Format::u8; });
    if (numbers.y == Format::i8) return all([] { return Format::i8; });
    if (numbers.y == Format::e4m3) return all([] { return Format::e4m3; });
    return all([] { return Format::e5m2; });
  } else if constexpr (sizeof(Y) == 2) {
    if (numbers.y == Format::u16) return all([] { return Format::u16; });
    if (numbers.y == Format::i16) return all([] { return Format::i16; });
    if (numbers.y == Format::f16) return all([] { return Format::f16; });
    return all([] { return Format::bf16; });
  } else if constexpr (sizeof(Y) == 4) {
    if (sizeof(Number) == 8 && numbers.y == Format::u32) return all([] { return Format::u32; });
    if (sizeof(Number) == 8 && numbers.y == Format::i32) return all([] { return Format::i32; });
    return all([] { return Format::f32; });
  } else {
    return all([] { return Format::f64; });
  }
}

// by(i): scale and shift of element i.
template <class Number, class Y, class X, int count, class By>
__device__ void convert_pack(RawPack<Y, count>& y, const RawPack<X, count>& x,
                             const ConvertNumbers& numbers, By by) {
  Number v[count];
  read_pack(v, x, numbers.x);
  if (numbers.computes) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const ScaleShift here = by(i);
      if constexpr (sizeof(Number) == 8)
        v[i] = fma(v[i], here.scale, here.shift);
      else
        v[i] = fmaf(v[i], static_cast<float>(here.scale), static_cast<float>(here.shift));
    }
  }
  put_pack(y, v, numbers);
}
template <class Y, class X, int count, class By>
__device__ void convert_any(RawPack<Y, count>& y, const RawPack<X, count>& x,
                            const ConvertNumbers& numbers, By by) {
  if (sizeof(X) == 8 || sizeof(Y) == 8 || numbers.wide)
    return convert_pack<double>(y, x, numbers, by);
  if constexpr (sizeof(X) < 8 && sizeof(Y) < 8) convert_pack<float>(y, x, numbers, by);
}

// Elements that lie together on both sides, under one scale and shift for each row.
template <class X, class Y, int count>
__global__ void __launch_bounds__(operator_threads)
    convert_packs(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                  uint32_t units, ConvertNumbers numbers) {
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
    uint32_t index;
    const auto place = place_operator_row<4>(nest, base, row, index);
    const auto x = *reinterpret_cast<const RawPack<X, count>*>(place.at[1] + first * sizeof(X));
    ScaleShift by{1, 0};
    if (numbers.computes) by = numbers_at(numbers, place.at[2], place.at[3]);
    RawPack<Y, count> y;
    convert_any(y, x, numbers, [&](int) { return by; });
    *reinterpret_cast<RawPack<Y, count>*>(place.at[0] + first * sizeof(Y)) = y;
  }
}

// Transposes: tiles of `tile_side` elements along x's direction (the planes) and along y's (the row), read along the one and
// written along the other. A unit is a tile; per_row of them are those of one row of the nest.
constexpr uint32_t tile_side = 64, tile_step = tile_side + 1;
template <class X, class Y>
__global__ void __launch_bounds__(operator_threads)
    convert_tiles(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                  uint32_t units, ConvertNumbers numbers) {
  constexpr int lines = operator_threads / tile_side, count = tile_side / lines;
  auto* const tile = reinterpret_cast<Y*>(shared_memory());
  wait_for_predecessor();
  const uint32_t across = (numbers.planes + tile_side - 1) / tile_side;
  const uint32_t lane = threadIdx.x % tile_side, line = threadIdx.x / tile_side;
  for (uint32_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const uint32_t row = divide(unit, per_row), rest = unit - row * per_row.divisor;
    const uint32_t first_i = rest / across * tile_side, first_p = rest % across * tile_side;
    uint32_t index;
    const auto place = place_operator_row<4>(nest, base, row, index);
    const auto at = [&](int k, uint32_t i, uint32_t p) {
      return place.at[k] + (first_i + i) * nest.row_steps[k] +
             (first_p + p) * numbers.plane_steps[k];
    };
    const auto inside = [&](uint32_t i, uint32_t p) {
      return first_i + i < nest.length && first_p + p < numbers.planes;
    };
    RawPack<X, count> x{};
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (inside(line + k * lines, lane)) x.v[k] = element_at<X>(at(1, line + k * lines, lane));
    RawPack<Y, count> y;
    convert_any(y, x, numbers, [&](int k) {
      const uint32_t i = line + k * lines;
      return inside(i, lane) ? numbers_at(numbers, at(2, i, lane), at(3, i, lane))
                             : ScaleShift{1, 0};
    });
#pragma unroll
    for (int k = 0; k < count; ++k) tile[lane * tile_step + line + k * lines] = y.v[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (inside(lane, line + k * lines))
        *reinterpret_cast<Y*>(at(0, lane, line + k * lines)) =
            tile[(line + k * lines) * tile_step + lane];
    __syncthreads();
  }
}

}  // namespace infini::gpu
