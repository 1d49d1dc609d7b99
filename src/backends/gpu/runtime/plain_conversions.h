// Numbers of 8 and 16 bits, several at a time, in plain C++: for vendors of which we know no better instruction.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/float_formats.h"

#ifdef INFINI_DEVICE_CODE
namespace infini::gpu {

// To the nearest integer, of two the even one; NaN is 0, what is larger than the largest becomes that.
template <class Integer>
__device__ uint32_t whole_code(float x) {
  constexpr auto least = static_cast<float>(std::numeric_limits<Integer>::min()),
                 most = static_cast<float>(std::numeric_limits<Integer>::max());
  const float whole = x != x ? 0 : x < least ? least : x > most ? most : rintf(x);
  constexpr uint32_t bits = (uint32_t{1} << (8 * sizeof(Integer))) - 1;
  return static_cast<uint32_t>(static_cast<int32_t>(whole)) & bits;
}

// The first number is the lowest part of the word.
template <class Byte>
__device__ uint32_t whole_bytes(float a, float b, float c, float d) {
  return whole_code<Byte>(a) | whole_code<Byte>(b) << 8 | whole_code<Byte>(c) << 16 |
         whole_code<Byte>(d) << 24;
}
template <class Short>
__device__ uint32_t whole_pair(float a, float b) {
  return whole_code<Short>(a) | whole_code<Short>(b) << 16;
}

template <bool e5m2>
__device__ uint32_t f8_code(float x) {
  return e5m2 ? e5m2_from_f32(x) : f8_from_f32(x);
}
template <bool e5m2>
__device__ uint32_t f8_bytes(float a, float b, float c, float d) {
  return f8_code<e5m2>(a) | f8_code<e5m2>(b) << 8 | f8_code<e5m2>(c) << 16 | f8_code<e5m2>(d) << 24;
}
template <bool e5m2>
__device__ void f32_from_f8_bytes(uint32_t bytes, float* v) {
  for (int k = 0; k < 4; ++k) {
    const auto code = static_cast<uint8_t>(bytes >> (8 * k));
    v[k] = e5m2 ? f32_from_e5m2(code) : f32_from_f8(code);
  }
}

}  // namespace infini::gpu
#endif
