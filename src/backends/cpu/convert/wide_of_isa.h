// What is computed in f64, over vectors as long as two of f32. Included once per instruction set, after `Native` is defined there.
// By intrinsics, where g++ 12 would take each element by itself.
#pragma once

#include <cstring>
#include <limits>

#include "backends/cpu/convert/formats_of_isa.h"

namespace infini::cpu {
namespace {

#if defined(__AVX512F__)
using Half = __m512d;
#elif defined(__AVX2__) && defined(__FMA__)
using Half = __m256d;
#endif

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
struct Halves {
  Half low, high;
  explicit Halves(Doubles x) { std::memcpy(this, &x, sizeof x); }
  Halves(Half l, Half h) : low(l), high(h) {}
  Doubles whole() const {
    Doubles x;
    std::memcpy(&x, this, sizeof x);
    return x;
  }
};
#endif

// to_odd: of the two f32 around a number the one with an odd last bit, unless it is one of them: rounding that once more to
// fewer bits gives what rounding the number itself would have given.
// whole_wide: integers of 32 bits, rounded to nearest even and saturated; NaN becomes 0.
#if defined(__AVX512F__)

inline Floats to_odd(Doubles x) {
  const auto towards_zero = [](__m512d v, __mmask8& inexact) {
    const __m256 near =
        _mm512_maskz_cvt_roundpd_ps(0xff, v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    inexact = _mm512_cmp_pd_mask(_mm512_maskz_cvtps_pd(0xff, near), v, _CMP_NEQ_OQ);
    return _mm256_castps_si256(near);
  };
  const Halves v(x);
  __mmask8 low, high;
  const __m256i first = towards_zero(v.low, low), second = towards_zero(v.high, high);
  const __m512i bits = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
  const auto inexact = static_cast<__mmask16>(low | high << 8);
  return reinterpret_cast<Floats>(_mm512_mask_or_epi32(bits, inexact, bits, _mm512_set1_epi32(1)));
}

template <class Integer>
inline Vector<Integer> whole_wide(Doubles x) {
  const auto rounded = [](__m512d v) {
    const __mmask8 number = _mm512_cmp_pd_mask(v, v, _CMP_ORD_Q);
    const __m512d least = _mm512_set1_pd(std::numeric_limits<Integer>::min()),
                  most = _mm512_set1_pd(std::numeric_limits<Integer>::max()),
                  inside = _mm512_maskz_min_pd(0xff, most, _mm512_maskz_max_pd(number, least, v));
    if constexpr (std::is_signed_v<Integer>)
      return _mm512_maskz_cvtpd_epi32(number, inside);
    else
      return _mm512_maskz_cvtpd_epu32(number, inside);
  };
  const Halves v(x);
  return reinterpret_cast<Vector<Integer>>(
      _mm512_inserti64x4(_mm512_castsi256_si512(rounded(v.low)), rounded(v.high), 1));
}

#elif defined(__AVX2__) && defined(__FMA__)

// The lower words of eight.
inline Ints lower_words(__m256d low, __m256d high) {
  const __m256 mixed = _mm256_shuffle_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high), 0x88);
  return reinterpret_cast<Ints>(_mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8));
}

inline Floats to_odd(Doubles x) {
  const Halves v(x);
  const __m128 low = _mm256_cvtpd_ps(v.low), high = _mm256_cvtpd_ps(v.high);
  const __m256d sign = _mm256_set1_pd(-0.0);
  const auto compared = [&](auto compare) {
    const auto half = [&](__m128 near, __m256d number) {
      return compare(_mm256_andnot_pd(sign, _mm256_cvtps_pd(near)), _mm256_andnot_pd(sign, number));
    };
    return lower_words(half(low, v.low), half(high, v.high));
  };
  const Ints below = compared([](__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }),
             above = compared([](__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); });
  const Ints bits = reinterpret_cast<Ints>(_mm256_set_m128(high, low)), even = (bits & 1) - 1;
  return reinterpret_cast<Floats>(bits - (below & even) + (above & even));
}

template <class Integer>
inline Vector<Integer> whole_wide(Doubles x) {
  const auto rounded = [](__m256d v) {
    const __m256d number = _mm256_and_pd(v, _mm256_cmp_pd(v, v, _CMP_ORD_Q));
    const __m256d least = _mm256_set1_pd(std::numeric_limits<Integer>::min()),
                  most = _mm256_set1_pd(std::numeric_limits<Integer>::max());
    const __m256d inside = _mm256_min_pd(most, _mm256_max_pd(least, number));
    // Adding 1.5·2^52 leaves the integer, rounded, in the low bits.
    return _mm256_add_pd(inside, _mm256_set1_pd(6755399441055744.0));
  };
  const Halves v(x);
  return reinterpret_cast<Vector<Integer>>(lower_words(rounded(v.low), rounded(v.high)));
}

#else

inline Floats to_odd(Doubles x) {
  const Floats near = __builtin_convertvector(x, Floats);
  const Doubles back = __builtin_convertvector(near, Doubles);
  const Doubles size = x < 0 ? -x : x, back_size = back < 0 ? -back : back;
  const Ints below = __builtin_convertvector(back_size < size, Ints),
             above = __builtin_convertvector(back_size > size, Ints);
  const Ints bits = reinterpret_cast<Ints>(near), even = (bits & 1) - 1;  // all ones where even
  return reinterpret_cast<Floats>(bits - (below & even) + (above & even));
}

template <class Integer>
inline Vector<Integer> whole_wide(Doubles x) {
  const Doubles number = x == x ? x : Doubles{};
  const Doubles low = Doubles{} + double{std::numeric_limits<Integer>::min()},
                high = Doubles{} + double{std::numeric_limits<Integer>::max()};
  const Doubles above = number < low ? low : number, inside = above > high ? high : above;
  return __builtin_convertvector(reinterpret_cast<Longs>(inside + 6755399441055744.0),
                                 Vector<Integer>);
}

#endif

// x·a + b, rounded once.
template <class T>
inline Vector<T> fused(Vector<T> x, Vector<T> a, Vector<T> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Floats>(_mm512_fmadd_ps(x, a, b));
  } else {
    const Halves v(x), m(a), s(b);
    return Halves(_mm512_fmadd_pd(v.low, m.low, s.low), _mm512_fmadd_pd(v.high, m.high, s.high))
        .whole();
  }
#elif defined(__AVX2__) && defined(__FMA__)
  if constexpr (sizeof(T) == 4) {
    return reinterpret_cast<Floats>(_mm256_fmadd_ps(x, a, b));
  } else {
    const Halves v(x), m(a), s(b);
    return Halves(_mm256_fmadd_pd(v.low, m.low, s.low), _mm256_fmadd_pd(v.high, m.high, s.high))
        .whole();
  }
#else
  Vector<T> result;
  for (int i = 0; i < lanes; ++i)
    if constexpr (sizeof(T) == 4)
      result[i] = __builtin_fmaf(x[i], a[i], b[i]);
    else
      result[i] = __builtin_fma(x[i], a[i], b[i]);
  return result;
#endif
}

}  // namespace
}  // namespace infini::cpu
