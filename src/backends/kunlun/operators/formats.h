// The formats of Convert in a core's local memory. Device code; their numbers stand in plan/operators/convert_plan.h.
#pragma once

#include "backends/kunlun/operators/exact.h"
#include "backends/kunlun/operators/row_nest.h"

namespace infini::kunlun {

enum FormatNumber : int32_t {
  as_u8,
  as_i8,
  as_u16,
  as_i16,
  as_e4m3,
  as_e5m2,
  as_f16,
  as_bf16,
  as_f32,
  as_i32,
  as_u32,
  as_f64
};

__device__ inline int format_bytes(int32_t format) {
  if (format == as_f64) return 8;
  if (format == as_f32 || format == as_i32 || format == as_u32) return 4;
  return format == as_u16 || format == as_i16 || format == as_f16 || format == as_bf16 ? 2 : 1;
}

// Exact: as for f16, the exponent comes by a product.
__device__ inline float e4m3_number(uint8_t code) {
  if ((code & 0x7fu) == 0x7fu) return not_a_number();
  const float magnitude = float_of((code & 0x7fu) << 20) * 0x1p120f;
  return code & 0x80u ? -magnitude : magnitude;
}

// Formats whose numbers are all f32.
__device__ inline float narrow_at(const char* p, int32_t format) {
  switch (format) {
    case as_u8: return *reinterpret_cast<const uint8_t*>(p);
    case as_i8: return *reinterpret_cast<const int8_t*>(p);
    case as_u16: return *reinterpret_cast<const uint16_t*>(p);
    case as_i16: return *reinterpret_cast<const int16_t*>(p);
    case as_e4m3: return e4m3_number(*reinterpret_cast<const uint8_t*>(p));
    case as_e5m2:
      return widened(Half{static_cast<uint16_t>(*reinterpret_cast<const uint8_t*>(p) << 8)});
    case as_f16: return widened(*reinterpret_cast<const Half*>(p));
    case as_bf16: return widened(*reinterpret_cast<const Bfloat*>(p));
    default: return *reinterpret_cast<const float*>(p);
  }
}
__device__ inline double wide_at(const char* p, int32_t format) {
  switch (format) {
    case as_i32: return *reinterpret_cast<const int32_t*>(p);
    case as_u32: return *reinterpret_cast<const uint32_t*>(p);
    case as_f64: return *reinterpret_cast<const double*>(p);
    default: return narrow_at(p, format);
  }
}

// The code of a magnitude in a format of `mantissa` bits whose least normal number is 2^-least; where codes end at `end`, which stands
// for what is too large. As for f16: below the normal ones adding a number with the same steps rounds.
__device__ inline uint32_t float_code(float x, int mantissa, int least, uint32_t end) {
  const uint32_t magnitude = bits_of(x) & 0x7fffffffu;
  const uint32_t normal = static_cast<uint32_t>(127 - least) << 23;
  const uint32_t steps = static_cast<uint32_t>(127 + 23 - least - mantissa) << 23;
  uint32_t code;
  if (magnitude < normal) {
    code = bits_of(float_of(magnitude) + float_of(steps)) - steps;
  } else {
    const int shift = 23 - mantissa;
    const uint32_t half = (1u << (shift - 1)) - 1u + (magnitude >> shift & 1u);
    code = (magnitude - normal + (1u << 23) + half) >> shift;
  }
  return code < end ? code : end;
}

// What lies beyond the largest number, `end`, becomes the largest where it saturates.
__device__ inline uint32_t bounded(uint32_t code, uint32_t end, bool saturates) {
  return saturates && code >= end ? end - 1 : code;
}

// Rounded to nearest even, saturated; NaN is 0.
template <class Integer>
__device__ inline void put_whole(char* p, double x, double least, double most) {
  const double rounded = x != x ? 0.0 : x < least ? least : x > most ? most : whole(x);
  *reinterpret_cast<Integer*>(p) = static_cast<Integer>(rounded);
}

// `x` rounds to the format as the number itself does.
__device__ inline void put_narrow(char* p, int32_t format, float x, bool saturates) {
  const uint32_t sign = bits_of(x) >> 31;
  const bool number = x == x;
  switch (format) {
    case as_u8: return put_whole<uint8_t>(p, x, 0, 255);
    case as_i8: return put_whole<int8_t>(p, x, -128, 127);
    case as_u16: return put_whole<uint16_t>(p, x, 0, 65535);
    case as_i16: return put_whole<int16_t>(p, x, -32768, 32767);
    case as_e4m3: {
      const uint32_t code = number ? bounded(float_code(x, 3, 6, 0x7f), 0x7f, saturates) : 0x7f;
      *reinterpret_cast<uint8_t*>(p) = static_cast<uint8_t>(sign << 7 | code);
      return;
    }
    case as_e5m2: {
      const uint32_t code = number ? bounded(float_code(x, 2, 14, 0x7c), 0x7c, saturates) : 0x7e;
      *reinterpret_cast<uint8_t*>(p) = static_cast<uint8_t>(sign << 7 | code);
      return;
    }
    case as_f16: {
      const uint32_t code =
          number ? bounded(float_code(x, 10, 14, 0x7c00), 0x7c00, saturates) : 0x7e00;
      *reinterpret_cast<uint16_t*>(p) = static_cast<uint16_t>(sign << 15 | code);
      return;
    }
    case as_bf16: {
      Bfloat& to = *reinterpret_cast<Bfloat*>(p);
      round_to(to, x);
      if (number && saturates && (to.bits & 0x7fffu) == 0x7f80u) --to.bits;
      return;
    }
    default: {
      const bool beyond = number && saturates && (bits_of(x) & 0x7fffffffu) == 0x7f800000u;
      *reinterpret_cast<uint32_t*>(p) = bits_of(x) - (beyond ? 1u : 0u);
    }
  }
}

__device__ inline void put_wide(char* p, int32_t format, double x, bool saturates) {
  constexpr double most = 1.7976931348623157e308;
  switch (format) {
    case as_i32: return put_whole<int32_t>(p, x, -2147483648.0, 2147483647.0);
    case as_u32: return put_whole<uint32_t>(p, x, 0.0, 4294967295.0);
    case as_f32: return put_narrow(p, format, static_cast<float>(x), saturates);
    case as_f64:
      *reinterpret_cast<double*>(p) = !saturates || !(x > most || x < -most) ? x
                                      : x > 0                                ? most
                                                                             : -most;
      return;
    default: return put_narrow(p, format, sticky_real(x), saturates);
  }
}

}  // namespace infini::kunlun
