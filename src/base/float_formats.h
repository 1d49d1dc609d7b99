// Conversions between f32 and the narrow float formats: round to nearest even, NaN stays NaN (its
// sign and leading payload bits kept, made quiet), overflow goes to infinity (f8: to NaN, as e4m3
// has no infinity), denormals are kept. All are constexpr, so that kernels may use them, too.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace infini {

constexpr float f32_from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

constexpr uint16_t bf16_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float f32_from_f16(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 31) {  // inf, or NaN made quiet as hardware does
    const uint32_t quiet = mantissa ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float denormal = static_cast<float>(mantissa) * 0x1p-24f;  // or zero; exact
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(denormal));
}

constexpr uint16_t f16_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and above round to infinity
  if (magnitude >= 0x38800000u) {                       // normal
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
  if (magnitude < 0x33000000u) return sign;  // below half of the smallest denormal
  const int shift = 126 - static_cast<int>(magnitude >> 23);
  const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t half = 1u << (shift - 1);
  const uint32_t odd = (mantissa >> shift) & 1u;
  return static_cast<uint16_t>(sign | ((mantissa + half - 1 + odd) >> shift));
}

// f8 is e4m3: bias 7, no infinity, NaN is S.1111.111, largest finite 448.
constexpr float f32_from_f8(uint8_t bits) {
  const uint32_t sign = uint32_t{bits & 0x80u} << 24;
  const uint32_t exponent = (bits >> 3) & 0xfu;
  const uint32_t mantissa = bits & 7u;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 120) << 23) | (mantissa << 20));
}

constexpr uint8_t f8_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x43e80000u) return sign | 0x7fu;  // NaN, or above 464: beyond the last tie
  if (magnitude >= 0x3c800000u) {                    // 2^-6 and above: normal
    const uint32_t rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u);
    return static_cast<uint8_t>(sign | ((rounded - 0x3c000000u) >> 20));
  }
  const float scaled = std::bit_cast<float>(magnitude) * 512.0f;  // exact: units of 2^-9
  const auto whole = static_cast<uint32_t>(scaled);
  const float rest = scaled - static_cast<float>(whole);
  const uint32_t up = rest > 0.5f || (rest == 0.5f && (whole & 1u)) ? 1u : 0u;
  return static_cast<uint8_t>(sign | (whole + up));
}

// Of the two f32 around a value the one with an odd last bit, unless it is one of them: rounding that once more to fewer
// bits gives what rounding the value itself would have given.
template <class Wide>
inline float to_odd(Wide value) {
  const float near = static_cast<float>(value);
  const auto exact = static_cast<long double>(value), back = static_cast<long double>(near);
  if (!(back != exact) || std::isinf(near) || std::isnan(near)) return near;
  uint32_t bits = std::bit_cast<uint32_t>(near);
  if ((bits & 1) == 0) bits += (back < 0 ? -back : back) < (exact < 0 ? -exact : exact) ? 1 : -1u;
  return std::bit_cast<float>(bits);
}

// e5m2, the other format of 8 bits: an f16 without its last eight bits. Bias 15, with infinities, largest finite 57344.
constexpr float f32_from_e5m2(uint8_t bits) {
  return f32_from_f16(static_cast<uint16_t>(uint16_t{bits} << 8));
}

constexpr uint8_t e5m2_from_f32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint8_t>(sign | 0x7eu | ((magnitude >> 21) & 3u));
  if (magnitude >= 0x47700000u) return sign | 0x7cu;  // 61440 and above round to infinity
  if (magnitude >= 0x38800000u) {                     // 2^-14 and above: normal
    const uint32_t rounded = magnitude + 0xfffffu + ((magnitude >> 21) & 1u);
    return static_cast<uint8_t>(sign | ((rounded - 0x38000000u) >> 21));
  }
  const float scaled = std::bit_cast<float>(magnitude) * 65536.0f;  // exact: units of 2^-16
  const auto whole = static_cast<uint32_t>(scaled);
  const float rest = scaled - static_cast<float>(whole);
  const uint32_t up = rest > 0.5f || (rest == 0.5f && (whole & 1u)) ? 1u : 0u;
  return static_cast<uint8_t>(sign | (whole + up));
}

}  // namespace infini
