// Convert, element by element: what is read becomes an f32 (or an f64 where one side needs it), is multiplied and added once,
// and rounded to y's format.
#pragma once

#include <climits>

#include "backends/gpu/convert/schedule.h"
#include "backends/gpu/convert/words.cuh"
#include "backends/gpu/operators/packs.cuh"

namespace infini::gpu {

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

}  // namespace infini::gpu
