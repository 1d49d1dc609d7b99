// Numbers of any type without loss, and their one rounding to another: what Cast and Convert are made of. Device code; f64 and
// 64-bit integers are the chip's in software, so that those casts are slow, not wrong.
#pragma once

#include "backends/kunlun/operators/numbers.h"

namespace infini::kunlun {

// An integer of up to 64 bits and a sign, or a real number.
struct Exact {
  int32_t is_real, is_negative;  // of integers
  double real;
  uint64_t magnitude;  // of integers
};

__device__ inline Exact exact_real(double x) { return {1, 0, x, 0}; }
__device__ inline Exact exact_integer(int64_t x) {
  return {0, x < 0, 0, x < 0 ? ~static_cast<uint64_t>(x) + 1 : static_cast<uint64_t>(x)};
}

__device__ inline Exact exact_at(const char* p, int32_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return exact_real(widened(*reinterpret_cast<const Half*>(p)));
    case INFINI_DTYPE_BF16: return exact_real(widened(*reinterpret_cast<const Bfloat*>(p)));
    case INFINI_DTYPE_F32: return exact_real(*reinterpret_cast<const float*>(p));
    case INFINI_DTYPE_F64: return exact_real(*reinterpret_cast<const double*>(p));
    case INFINI_DTYPE_U64: return {0, 0, 0, *reinterpret_cast<const uint64_t*>(p)};
    case INFINI_DTYPE_BOOL: return exact_integer(*reinterpret_cast<const uint8_t*>(p) != 0);
    default: return exact_integer(integer_at(p, dtype));
  }
}

// The f32 nearest to zero of the two around a number that is none, with its last bit set: it rounds on to fewer bits as the
// number itself would.
__device__ inline float sticky_real(double x) {
  const float near = static_cast<float>(x);
  const double back = near;
  if (!(back != x) || back - back != 0) return near;  // exact, infinite or no number
  uint32_t bits = bits_of(near);
  if ((back < 0 ? -back : back) > (x < 0 ? -x : x)) --bits;
  return float_of(bits | 1u);
}
__device__ inline float sticky_integer(uint64_t magnitude) {
  int shift = 0;
  while (magnitude >> shift >= 1u << 24) ++shift;
  const auto high = static_cast<uint32_t>(magnitude >> shift);
  const bool lost = (static_cast<uint64_t>(high) << shift) != magnitude;
  float power = 1;
  for (int i = 0; i < shift; ++i) power += power;
  return static_cast<float>(lost ? high | 1u : high) * power;
}
__device__ inline float sticky(const Exact& x) {
  if (x.is_real) return sticky_real(x.real);
  const float value = sticky_integer(x.magnitude);
  return x.is_negative ? -value : value;
}

// To the nearest whole number, ties to even; below 2^52, where there are others.
__device__ inline double whole(double x) {
  constexpr double shift = 4503599627370496.0;
  if (!(x < shift && x > -shift)) return x;
  const double rounded = x < 0 ? (x - shift) + shift : (x + shift) - shift;
  return rounded;
}

// Rounded to nearest even, saturated to -least .. most; NaN is 0.
__device__ inline int64_t to_integer(const Exact& x, uint64_t least, uint64_t most) {
  uint64_t magnitude = x.magnitude;
  bool negative = x.is_negative;
  if (x.is_real) {
    if (x.real != x.real) return 0;
    const double rounded = whole(x.real), size = rounded < 0 ? -rounded : rounded;
    negative = rounded < 0;
    magnitude = size >= 18446744073709551616.0 ? ~uint64_t{0} : static_cast<uint64_t>(size);
  }
  const uint64_t limit = negative ? least : most;
  if (magnitude > limit) magnitude = limit;
  return static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude);
}

__device__ inline double real_of(const Exact& x) {
  if (x.is_real) return x.real;
  const double value = static_cast<double>(x.magnitude);
  return x.is_negative ? -value : value;
}
__device__ inline float float_of(const Exact& x) {
  if (x.is_real) return static_cast<float>(x.real);
  const float value = static_cast<float>(x.magnitude);
  return x.is_negative ? -value : value;
}

__device__ inline void put_exact(char* p, int32_t dtype, const Exact& x) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return round_to(*reinterpret_cast<Half*>(p), sticky(x));
    case INFINI_DTYPE_BF16: return round_to(*reinterpret_cast<Bfloat*>(p), sticky(x));
    case INFINI_DTYPE_F32: *reinterpret_cast<float*>(p) = float_of(x); return;
    case INFINI_DTYPE_F64: *reinterpret_cast<double*>(p) = real_of(x); return;
    case INFINI_DTYPE_BOOL:
      *reinterpret_cast<uint8_t*>(p) = x.is_real ? x.real != 0 : x.magnitude != 0;
      return;
    default: break;
  }
  const int bytes = bytes_of(dtype);
  const bool is_signed = dtype >= INFINI_DTYPE_I8 && dtype <= INFINI_DTYPE_I64;
  const uint64_t top = uint64_t{1} << (8 * bytes - 1);  // 2^(bits - 1)
  put_integer(p, bytes, to_integer(x, is_signed ? top : 0, is_signed ? top - 1 : top - 1 + top));
}

}  // namespace infini::kunlun
