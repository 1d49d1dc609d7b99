// Reading and writing the matrix unit's number formats, and the roundings that its math modes
// apply.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "acl/acl_base.h"

namespace cann_emulator {

inline uint32_t bits_of(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
inline float float_of(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

// Keeps `kept` of the 23 mantissa bits, to nearest even; the caller has dealt with NaN.
inline uint32_t round_mantissa(uint32_t u, int kept) {
  int drop = 23 - kept;
  uint32_t odd = (u >> drop) & 1;
  return (u + ((1u << (drop - 1)) - 1) + odd) & ~((1u << drop) - 1);
}

inline float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, exponent = (h >> 10) & 31,
                 mantissa = h & 1023;
  if (exponent == 0)  // subnormal: steps of 2^-24
    return float_of(sign | bits_of(static_cast<float>(mantissa) * 0x1p-24f));
  return float_of(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13);
}

inline uint16_t float_to_half(float x) {
  uint16_t sign = static_cast<uint16_t>((bits_of(x) >> 16) & 0x8000);
  float a = std::fabs(x);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | 0x7E00);
  if (a >= 65520.0f) return static_cast<uint16_t>(sign | 0x7C00);
  if (a < 6.103515625e-05f)  // subnormal: steps of 2^-24
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24))));
  uint32_t u = round_mantissa(bits_of(a), 10);
  return static_cast<uint16_t>(sign | ((u >> 13) - (112u << 10)));
}

inline float load_number(const unsigned char* p, aclDataType dtype) {
  if (dtype == ACL_FLOAT) {
    float x;
    std::memcpy(&x, p, 4);
    return x;
  }
  uint16_t h;
  std::memcpy(&h, p, 2);
  return dtype == ACL_BF16 ? float_of(static_cast<uint32_t>(h) << 16) : half_to_float(h);
}

inline float round_to(float x, aclDataType dtype) {
  if (dtype == ACL_FLOAT || std::isnan(x)) return x;
  return dtype == ACL_BF16 ? float_of(round_mantissa(bits_of(x), 7))
                           : half_to_float(float_to_half(x));
}

inline void store_number(unsigned char* p, float x, aclDataType dtype) {
  if (dtype == ACL_FLOAT) {
    std::memcpy(p, &x, 4);
    return;
  }
  uint16_t h =
      dtype == ACL_BF16
          ? static_cast<uint16_t>(std::isnan(x) ? 0x7FC0 : bits_of(round_to(x, dtype)) >> 16)
          : float_to_half(x);
  std::memcpy(p, &h, 2);
}

// cubeMathType on f32 inputs: 0 keeps them, 1 and 3 round to HF32 (11 mantissa bits), 2 to f16.
inline float math_mode(float x, aclDataType dtype, int8_t mode) {
  if (dtype != ACL_FLOAT || mode == 0 || mode == 4 || !std::isfinite(x)) return x;
  return mode == 2 ? round_to(x, ACL_FLOAT16) : float_of(round_mantissa(bits_of(x), 11));
}

}  // namespace cann_emulator
