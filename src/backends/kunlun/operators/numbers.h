// Element formats in a core's local memory: widened when they are read, rounded once when they are written. Device code.
#pragma once

#include "backends/kunlun/runtime/launch.h"
#include "infinicore.h"
#include "xpu/kernel/xtdk_math.h"

namespace infini::kunlun {

__device__ inline uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
__device__ inline float float_of(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
__device__ inline float infinity() { return float_of(0x7f800000u); }
__device__ inline float not_a_number() { return float_of(0x7fc00000u); }

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

// The mantissa becomes f32's, the exponent by a product that is exact, also of denormals; infinities and NaN, whose exponent
// was the largest, get the largest again.
__device__ inline float widened(Half x) {
  const float magnitude = float_of((x.bits & 0x7fffu) << 13) * 0x1p112f;
  uint32_t bits = bits_of(magnitude);
  if (magnitude >= 65536.0f) bits |= (x.bits & 0x3ffu) ? 0x7fc00000u : 0x7f800000u;
  return float_of(bits | (x.bits & 0x8000u) << 16);
}
__device__ inline float widened(Bfloat x) { return float_of(static_cast<uint32_t>(x.bits) << 16); }
__device__ inline float widened(float x) { return x; }
__device__ inline double widened(double x) { return x; }

// Below 2^-14 steps are 2^-24, as those of f32 numbers in 0.5..1: adding 0.5 rounds to them.
__device__ inline void round_to(Half& to, float x) {
  const uint32_t sign = bits_of(x) >> 16 & 0x8000u, magnitude = bits_of(x) & 0x7fffffffu;
  uint32_t code;
  if (magnitude > 0x7f800000u)
    code = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  else if (magnitude >= 0x477ff000u)  // from 65520 on
    code = 0x7c00u;
  else if (magnitude < 0x38800000u)
    code = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  else
    code = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  to.bits = static_cast<uint16_t>(sign | code);
}
__device__ inline void round_to(Bfloat& to, float x) {
  const uint32_t bits = bits_of(x);
  const bool number = (bits & 0x7fffffffu) <= 0x7f800000u;
  to.bits = static_cast<uint16_t>(number ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16
                                         : bits >> 16 | 0x40u);
}
__device__ inline void round_to(float& to, float x) { to = x; }
__device__ inline void round_to(double& to, double x) { to = x; }

__device__ inline int64_t integer_at(const char* p, int32_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_I8: return *reinterpret_cast<const int8_t*>(p);
    case INFINI_DTYPE_I16: return *reinterpret_cast<const int16_t*>(p);
    case INFINI_DTYPE_I32: return *reinterpret_cast<const int32_t*>(p);
    case INFINI_DTYPE_BYTE:
    case INFINI_DTYPE_U8: return *reinterpret_cast<const uint8_t*>(p);
    case INFINI_DTYPE_U16: return *reinterpret_cast<const uint16_t*>(p);
    case INFINI_DTYPE_U32: return *reinterpret_cast<const uint32_t*>(p);
    default: return *reinterpret_cast<const int64_t*>(p);
  }
}
// As many of its low bytes as the type has.
__device__ inline void put_integer(char* p, int bytes, int64_t value) {
  if (bytes == 1) *reinterpret_cast<uint8_t*>(p) = static_cast<uint8_t>(value);
  if (bytes == 2) *reinterpret_cast<uint16_t*>(p) = static_cast<uint16_t>(value);
  if (bytes == 4) *reinterpret_cast<uint32_t*>(p) = static_cast<uint32_t>(value);
  if (bytes == 8) *reinterpret_cast<int64_t*>(p) = value;
}

__device__ inline int bytes_of(int32_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_I16:
    case INFINI_DTYPE_U16:
    case INFINI_DTYPE_F16:
    case INFINI_DTYPE_BF16: return 2;
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32:
    case INFINI_DTYPE_F32: return 4;
    case INFINI_DTYPE_I64:
    case INFINI_DTYPE_U64:
    case INFINI_DTYPE_F64: return 8;
    default: return 1;
  }
}

// Polynomials fitted to erf(z) / z in z² below 1/2, and to erfc(z) exp(z²) (1 + z / 2) in (z - 2) / (z + 2) above: within 6 units
// of f32's last place down to its least normal number. z² enters the exponential in two parts, the first of which is exact.
__device__ inline float error_complement(float x) {
  const float z = x < 0 ? -x : x;
  if (z < 0.5f) {
    constexpr float small[] = {1.128379225730896f,     -0.37612637877464294f,
                               0.11283790320158005f,   -0.026865914463996887f,
                               0.005221934989094734f,  -0.0008464398561045527f,
                               0.00010318869317416102f};
    const float w = z * z;
    float sum = small[6];
    for (int i = 5; i >= 0; --i) sum = sum * w + small[i];
    return 1.0f - x * sum;
  }
  if (!(z < 11.0f)) return z != z ? z : x < 0 ? 2.0f : 0.0f;
  constexpr float large[] = {
      0.5107913613319397f,    -0.34358033537864685f,    0.13973604142665863f,
      -0.01822115294635296f,  -0.0107552669942379f,     0.0032402013894170523f,
      0.0015445244498550892f, -0.00042271215352229774f, -0.00032716928399167955f,
      2.973738082800992e-05f, 6.095170829212293e-05f};
  const float t = 1.0f / (1.0f + 0.5f * z), s = 0.5f * (z - 2.0f) * t;
  float sum = large[10];
  for (int i = 9; i >= 0; --i) sum = sum * s + large[i];
  const float high = float_of(bits_of(z) & 0xfffff000u), low = z - high;
  const float result = sum * t * exp(-high * high) * exp(-low * (z + high));
  return x < 0 ? 2.0f - result : result;
}

// What formulas of plan/operators/functions.h need.
struct FloatMath {
  using Scalar = float;
  static constexpr bool integers = false;
  static __device__ inline float exp(float x) { return ::exp(x); }
  static __device__ inline float erfc(float x) { return error_complement(x); }
};
template <class Number>
struct PlainMath {
  using Scalar = Number;
  static constexpr bool integers = true;  // only what needs no more than + - * /
};

}  // namespace infini::kunlun
