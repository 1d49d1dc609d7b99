// NVIDIA's instructions for numbers of 8 and 16 bits, several at a time. (plain_conversions.h says the same in plain C++.)
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/float_formats.h"

#ifdef __CUDACC__
namespace infini::gpu {

// To the nearest integer, of two the even one; NaN is 0, what is larger than the largest becomes that. The first number is
// the lowest part of the word.
template <class Byte>
__device__ uint32_t whole_bytes(float a, float b, float c, float d) {
  const int32_t w[] = {__float2int_rn(a), __float2int_rn(b), __float2int_rn(c), __float2int_rn(d)};
  uint32_t high, all;
  if constexpr (std::is_signed_v<Byte>) {
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(w[3]), "r"(w[2]));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(w[1]), "r"(w[0]), "r"(high));
  } else {
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(w[3]), "r"(w[2]));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(w[1]), "r"(w[0]), "r"(high));
  }
  return all;
}
template <class Short>
__device__ uint32_t whole_pair(float a, float b) {
  const int32_t low = __float2int_rn(a), high = __float2int_rn(b);
  uint32_t both;
  if constexpr (std::is_signed_v<Short>)
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(both) : "r"(high), "r"(low));
  else
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(both) : "r"(high), "r"(low));
  return both;
}

// f8. The instructions since sm_89 know no overflow: what is too large is made a NaN before (e4m3), or infinite after (e5m2).
template <bool e5m2>
__device__ uint32_t f8_pair(float a, float b) {
#if __CUDA_ARCH__ >= 890
  uint16_t both;
  if constexpr (e5m2) {
    constexpr float beyond =
        61440;  // where the largest, 57344, and what would come next are equally far
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(b), "f"(a));
    return both + (fabsf(a) >= beyond ? 1u : 0u) + (fabsf(b) >= beyond ? 256u : 0u);
  } else {
    constexpr float most = 464;  // 448 and half a step
    const float nan = __int_as_float(0x7fffffff);
    const float low = fabsf(a) > most ? nan : a, high = fabsf(b) > most ? nan : b;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
  }
#else
  if constexpr (e5m2) return e5m2_from_f32(a) | uint32_t{e5m2_from_f32(b)} << 8;
  return f8_from_f32(a) | uint32_t{f8_from_f32(b)} << 8;
#endif
}
template <bool e5m2>
__device__ uint32_t f8_bytes(float a, float b, float c, float d) {
  return f8_pair<e5m2>(a, b) | f8_pair<e5m2>(c, d) << 16;
}

// The numbers of four bytes; exact.
template <bool e5m2>
__device__ void f32_from_f8_bytes(uint32_t bytes, float* v) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
#if __CUDA_ARCH__ >= 890
    const auto pair = static_cast<uint16_t>(bytes >> (8 * i));
    uint32_t halves;
    if constexpr (e5m2)
      asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
    else
      asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
    asm("cvt.f32.f16 %0, %1;" : "=f"(v[i]) : "h"(static_cast<uint16_t>(halves)));
    asm("cvt.f32.f16 %0, %1;" : "=f"(v[i + 1]) : "h"(static_cast<uint16_t>(halves >> 16)));
#else
    for (int k = i; k < i + 2; ++k) {
      const auto code = static_cast<uint8_t>(bytes >> (8 * k));
      v[k] = e5m2 ? f32_from_e5m2(code) : f32_from_f8(code);
    }
#endif
  }
}

}  // namespace infini::gpu
#endif
