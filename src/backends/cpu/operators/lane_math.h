// Transcendental functions of vectors of f32: included once per instruction set, after `Native`. Each is written for the number of its
// instructions: no division where there is a reciprocal to begin with, no case that a mask does not decide.
#pragma once

#include <cmath>

#include "backends/cpu/operators/lane_kinds.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {
namespace {

// 1 / d for d whose reciprocal is no denormal: one rounding and a half off, at most.
template <int n>
[[gnu::always_inline]] inline Pack<n> reciprocal(const Pack<n>& d) {
#if defined(__AVX512F__)
  const auto near = apply_to(
      [](Floats x) {  // 2^-14 off
        return reinterpret_cast<Floats>(_mm512_maskz_rcp14_ps(0xffff, reinterpret_cast<__m512>(x)));
      },
      d);
  return apply_to([](Floats x, Floats r) { return r + r * (1.0f - x * r); }, d, near);
#else
  return apply_to([](Floats x) { return 1.0f / x; }, d);
#endif
}

// exp(x) of x <= 0 or NaN by 2^k times a polynomial: x = k·ln 2 + r with |r| <= ln 2 / 2, where 1 + r + r²·f(r) is less than 2^-27
// off (f fitted in Chebyshev's points). Below -87.3, before it is a denormal, it is 0; NaN stays NaN.
template <int n>
[[gnu::always_inline]] inline Pack<n> exponential(const Pack<n>& x) {
  // 1.5·2^23: adding it leaves the integer, rounded, in the low bits.
  constexpr float magic = 12582912.0f;
  const auto shifted = x * 1.44269504f + magic, k = shifted - magic;
  const auto r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
  constexpr float terms[] = {0.0416662693f, 0.166665167f, 0.5f, 1.0f, 1.0f};
  auto p = r * 0.00139461376f + 0.00836910866f;
  for (const float term : terms) p = p * r + term;
  // k is added to the exponent: cheaper than an instruction that scales.
  const auto scale = [](Floats mantissa, Floats power, Floats v) {
    const Words bits = words(mantissa) + (words(power) << 23);
    return floats(v < -87.3f ? Words{} : bits);
  };
  return apply_to(scale, p, shifted, x);
}

inline Floats minus_magnitude(Floats x) { return floats(words(x) | 0x80000000u); }
inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }

// 1 / (1 + exp(-x)), without exponentials of positive numbers.
template <int n>
[[gnu::always_inline]] inline Pack<n> logistic(const Pack<n>& x) {
  const auto e = exponential(apply_to(minus_magnitude, x));
  return apply_to([](Floats v, Floats f) { return v < 0.0f ? f : splat(1.0f); }, x, e) *
         reciprocal(e + 1.0f);
}
// x·logistic(x): of x and x·exp(-|x|) the numerator is the larger one.
template <int n>
[[gnu::always_inline]] inline Pack<n> silu(const Pack<n>& x) {
  const auto e = exponential(apply_to(minus_magnitude, x));
  return apply_to(larger, x * e, x) * reciprocal(e + 1.0f);
}

// The share of a normal distribution below x. For a = |x|, exp(a²/2)·(1 - normal(a))·(a + 4) is a polynomial of q = 1 - 8 / (a + 4), 2^-26
// off in [0, 13.6] (fitted in Chebyshev's points); beyond, the exponential is 0.
template <int n>
[[gnu::always_inline]] inline Pack<n> normal(const Pack<n>& x) {
  constexpr float terms[] = {0.00157520998f, -0.00352824694f, -0.00753105728f, 0.0604068049f,
                             -0.186522415f,  0.387136694f,    -0.607896628f,   0.755285138f};
  const auto minus = apply_to(minus_magnitude, x),
             a = apply_to([](Floats v) { return -larger(splat(-14.0f), v); }, minus);
  const auto w = reciprocal(a + 4.0f), q = w * -8.0f + 1.0f;
  auto p = q * -0.000117768185f + 0.000206960921f;
  for (const float term : terms) p = p * q + term;
  const auto beyond = p * w * exponential(a * a * -0.5f);
  return apply_to([](Floats v, Floats b) { return v < 0.0f ? b : 1.0f - b; }, x, beyond);
}

}  // namespace
}  // namespace infini::cpu
