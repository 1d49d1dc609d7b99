// Convert: what is read becomes an f32 (or an f64 where one side needs it), is multiplied and added once, and rounded to y's format.
#pragma once

#include <climits>

#include "backends/gpu/operators/kernels.cuh"
#include "plan/convert_plan.h"

namespace infini::gpu {

struct ConvertNumbers {
  Format y, x;
  bool wide, computes, saturates;
  bool along[2];
  double scale, shift;
};

// Elements at any address that is a multiple of their size.
template <class T>
__device__ T element_at(const char* p) {
  return *reinterpret_cast<const T*>(p);
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

static __global__ void __launch_bounds__(operator_threads)
    convert_elements(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                     uint32_t units, ConvertNumbers numbers) {
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), i = unit - row * per_row.divisor;
    uint32_t index;
    const auto place = place_operator_row<4>(nest, base, row, index);
    const char* const x = place.at[1] + i * nest.row_steps[1];
    char* const y = place.at[0] + i * nest.row_steps[0];
    double scale = 1, shift = 0;
    if (numbers.computes) {
      scale = number_along(place.at[2] + i * nest.row_steps[2], numbers.along[0], numbers.scale);
      shift = number_along(place.at[3] + i * nest.row_steps[3], numbers.along[1], numbers.shift);
    }
    if (numbers.wide) {
      double value = read_number<double>(x, numbers.x);
      if (numbers.computes) value = fma(value, scale, shift);
      put_wide(y, numbers.y, value, numbers.saturates);
    } else {
      float value = read_number<float>(x, numbers.x);
      if (numbers.computes)
        value = fmaf(value, static_cast<float>(scale), static_cast<float>(shift));
      put_narrow(y, numbers.y, value, numbers.saturates);
    }
  }
}

}  // namespace infini::gpu
