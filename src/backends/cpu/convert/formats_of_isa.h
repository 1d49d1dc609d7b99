// The formats that are converted, each by what it does to a vector: widen to f32, exactly, and narrow from f32, rounded once to
// nearest even. Included once per instruction set, after `Native` is defined there.
//
// Native: vector_bytes of the f32 vectors, f32_from_f16(Halves) and f16_from_f32(Floats), which round to nearest even.
#pragma once

#include <cstdint>
#include <type_traits>

namespace infini::cpu {
namespace {

constexpr int lanes = Native::vector_bytes / 4;
typedef float Floats __attribute__((vector_size(lanes * 4)));
typedef int32_t Ints __attribute__((vector_size(lanes * 4)));
typedef uint32_t Words __attribute__((vector_size(lanes * 4)));
typedef double Doubles __attribute__((vector_size(lanes * 8)));
typedef int64_t Longs __attribute__((vector_size(lanes * 8)));
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class V>
inline V load_lanes(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

// Integers as long as vectors of f32 from shorter ones, and back where they fit. g++ 12 takes vectors apart where the lengths of
// elements differ much, and makes many instructions of one where they differ at all.
#if defined(__AVX512F__)
template <class To, class From>
inline Vector<To> resized(Vector<From> in) {
  constexpr __mmask16 all = 0xffff;
  if constexpr (sizeof(To) == sizeof(From))
    return reinterpret_cast<Vector<To>>(in);
  else if constexpr (sizeof(From) == 1 && std::is_signed_v<From>)
    return reinterpret_cast<Vector<To>>(
        _mm512_maskz_cvtepi8_epi32(all, reinterpret_cast<__m128i>(in)));
  else if constexpr (sizeof(From) == 1)
    return reinterpret_cast<Vector<To>>(
        _mm512_maskz_cvtepu8_epi32(all, reinterpret_cast<__m128i>(in)));
  else if constexpr (sizeof(From) == 2 && std::is_signed_v<From>)
    return reinterpret_cast<Vector<To>>(
        _mm512_maskz_cvtepi16_epi32(all, reinterpret_cast<__m256i>(in)));
  else if constexpr (sizeof(From) == 2)
    return reinterpret_cast<Vector<To>>(
        _mm512_maskz_cvtepu16_epi32(all, reinterpret_cast<__m256i>(in)));
  else if constexpr (sizeof(To) == 1)
    return reinterpret_cast<Vector<To>>(
        _mm512_maskz_cvtepi32_epi8(all, reinterpret_cast<__m512i>(in)));
  else
    return reinterpret_cast<Vector<To>>(
        _mm512_maskz_cvtepi32_epi16(all, reinterpret_cast<__m512i>(in)));
}
#elif defined(__AVX2__)
template <class To, class From>
inline Vector<To> resized(Vector<From> in) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return reinterpret_cast<Vector<To>>(in);
  } else if constexpr (sizeof(From) == 1) {
    const __m128i bytes = _mm_cvtsi64_si128(reinterpret_cast<long long>(in));
    return reinterpret_cast<Vector<To>>(std::is_signed_v<From> ? _mm256_cvtepi8_epi32(bytes)
                                                               : _mm256_cvtepu8_epi32(bytes));
  } else if constexpr (sizeof(From) == 2) {
    const auto halves = reinterpret_cast<__m128i>(in);
    return reinterpret_cast<Vector<To>>(std::is_signed_v<From> ? _mm256_cvtepi16_epi32(halves)
                                                               : _mm256_cvtepu16_epi32(halves));
  } else {
    const auto all = reinterpret_cast<__m256i>(in);
    const __m128i low = _mm256_castsi256_si128(all), high = _mm256_extracti128_si256(all, 1);
    if constexpr (sizeof(To) == 2) {
      return reinterpret_cast<Vector<To>>(std::is_signed_v<To> ? _mm_packs_epi32(low, high)
                                                               : _mm_packus_epi32(low, high));
    } else {
      const __m128i halves = _mm_packs_epi32(low, high);
      const __m128i bytes =
          std::is_signed_v<To> ? _mm_packs_epi16(halves, halves) : _mm_packus_epi16(halves, halves);
      return reinterpret_cast<Vector<To>>(static_cast<long long>(_mm_cvtsi128_si64(bytes)));
    }
  }
}
#else
template <class To, class From>
inline Vector<To> resized(Vector<From> in) {
  if constexpr (sizeof(From) == 1 && sizeof(To) == 4) {
    using Middle = std::conditional_t<std::is_signed_v<From>, int16_t, uint16_t>;
    return __builtin_convertvector(__builtin_convertvector(in, Vector<Middle>), Vector<To>);
  } else if constexpr (sizeof(From) == 4 && sizeof(To) == 1) {
    return __builtin_convertvector(__builtin_convertvector(in, Vector<int16_t>), Vector<To>);
  } else {
    return __builtin_convertvector(in, Vector<To>);
  }
}
#endif

// Bytes as halves: for one more instruction that g++ 12 does not find.
#if defined(__AVX512F__)
inline Vector<uint16_t> halves_of(Vector<uint8_t> in) {
  return reinterpret_cast<Vector<uint16_t>>(
      _mm256_maskz_cvtepu8_epi16(0xffff, reinterpret_cast<__m128i>(in)));
}
#elif defined(__AVX2__)
inline Vector<uint16_t> halves_of(Vector<uint8_t> in) {
  return reinterpret_cast<Vector<uint16_t>>(
      _mm_cvtepu8_epi16(_mm_cvtsi64_si128(reinterpret_cast<long long>(in))));
}
#endif

inline Floats floats(Words bits) { return reinterpret_cast<Floats>(bits); }
inline Words words(Floats v) { return reinterpret_cast<Words>(v); }

// A float of one sign, E exponent and M mantissa bits. Without infinities all ones are NaN, and the exponent of all ones is as good as any.
template <class Bits, int E, int M, bool infinities>
struct Small {
  using type = Bits;
  static constexpr int bias = (1 << (E - 1)) - 1;
  static constexpr uint32_t sign = 1u << (E + M), top = ((1u << E) - 1) << M;
  static constexpr uint32_t largest = infinities ? top - 1 : sign - 2;
  static constexpr uint32_t beyond = infinities ? top : sign - 1;
  static constexpr uint32_t quiet = infinities ? top | 1u << (M - 1) : sign - 1;

  // By way of f16, where instructions convert that: e5m2 are the upper halves of f16, and the bits of e4m3, as an f16, are a
  // 256th of the number, denormals included.
  static Floats widen(Vector<Bits> in) {
#if defined(__F16C__)
    using Halves = Vector<uint16_t>;
    const Halves bytes = halves_of(in);
    if constexpr (infinities) return reinterpret_cast<Floats>(Native::f32_from_f16(bytes << 8));
    const Halves magnitude = bytes & 0x7f, half = (magnitude << 7) | ((bytes & 0x80) << 8);
    const Halves nan = reinterpret_cast<Halves>(magnitude == 0x7f) & 0x7e00;
    return reinterpret_cast<Floats>(Native::f32_from_f16(half | nan)) * 256.0f;
#else
    return widen_by_parts(in);
#endif
  }
  static Floats widen_by_parts(Vector<Bits> in) {
    const Words bits = resized<uint32_t, Bits>(in), magnitude = bits & (sign - 1);
    const Words normal = (magnitude << (23 - M)) + (uint32_t{127 - bias} << 23);
    // Denormals in units of the smallest: a product that is exact.
    constexpr float unit = 1.0f / static_cast<float>(1u << (bias + M - 1));
    const Words denormal =
        words(__builtin_convertvector(reinterpret_cast<Ints>(magnitude), Floats) * unit);
    Words result = magnitude < (1u << M) ? denormal : normal;
    const Words nan = 0x7fc00000u | (infinities ? magnitude << (23 - M) : Words{});
    if constexpr (infinities) result = magnitude == top ? 0x7f800000u + Words{} : result;
    result = magnitude > (infinities ? top : sign - 2) ? nan : result;
    return floats(result | (bits & sign) << (31 - E - M));
  }
  static Vector<Bits> narrow(Floats in, bool saturates) {
    const Words bits = words(in), magnitude = bits & 0x7fffffffu;
    const Words rounded = magnitude + ((1u << (22 - M)) - 1) + ((magnitude >> (23 - M)) & 1u);
    const Words normal = (rounded - (uint32_t{127 - bias} << 23)) >> (23 - M);
    // Adding a number whose last bit is the smallest denormal leaves their count in its mantissa, rounded.
    constexpr uint32_t anchor = static_cast<uint32_t>(127 + 23 + 1 - bias - M) << 23;
    const Words denormal = words(floats(magnitude) + floats(anchor + Words{})) - anchor;
    Words result = magnitude < (uint32_t{128 - bias} << 23) ? denormal : normal;
    result = result > largest ? (saturates ? largest : beyond) + Words{} : result;
    const Words payload = infinities ? (magnitude >> (23 - M)) & ((1u << M) - 1) : Words{};
    result = magnitude > 0x7f800000u ? quiet | payload : result;
    return resized<Bits, uint32_t>(result | ((bits >> (31 - E - M)) & sign));
  }
};
using E4M3 = Small<uint8_t, 4, 3, false>;
using E5M2 = Small<uint8_t, 5, 2, true>;

struct F16 {
  using type = uint16_t;
  static Floats widen(Vector<uint16_t> in) {
    return reinterpret_cast<Floats>(Native::f32_from_f16(in));
  }
  static Vector<uint16_t> narrow(Floats in, bool saturates) {
    const auto half = reinterpret_cast<Vector<uint16_t>>(Native::f16_from_f32(in));
    if (!saturates) return half;
    const Vector<uint16_t> infinite =
        reinterpret_cast<Vector<uint16_t>>((half & 0x7fff) == 0x7c00);  // all ones: one less
    return half + infinite;
  }
};

struct BF16 {
  using type = uint16_t;
  static Floats widen(Vector<uint16_t> in) { return floats(resized<uint32_t, uint16_t>(in) << 16); }
  static Vector<uint16_t> narrow(Floats in, bool saturates) {
    const Words bits = words(in), magnitude = bits & 0x7fffffffu;
    Words result = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    if (saturates) result = (result & 0x7fffu) == 0x7f80u ? result - 1u : result;
    result = magnitude > 0x7f800000u ? (bits >> 16) | 0x40u : result;
    return resized<uint16_t, uint32_t>(result);
  }
};

struct F32 {
  using type = float;
  static Floats widen(Floats in) { return in; }
  static Floats narrow(Floats in, bool saturates) {
    const Words bits = words(in);
    return saturates ? floats((bits & 0x7fffffffu) == 0x7f800000u ? bits - 1u : bits) : in;
  }
};

// Integers of at most 16 bits. Adding 1.5·2^23 leaves the integer, rounded, in the low bits, where no instruction rounds.
template <class Integer, int least, int most>
struct Whole {
  using type = Integer;
  static Floats widen(Vector<Integer> in) {
    return __builtin_convertvector(resized<int32_t, Integer>(in), Floats);
  }
  static Vector<Integer> narrow(Floats in, bool) {
    const Floats low = Floats{} + float{least}, high = Floats{} + float{most};
#if defined(__AVX512F__)
    const __mmask16 number = _mm512_cmp_ps_mask(in, in, _CMP_ORD_Q);
    const __m512 inside = _mm512_maskz_min_ps(0xffff, high, _mm512_maskz_max_ps(number, low, in));
    return resized<Integer, int32_t>(
        reinterpret_cast<Ints>(_mm512_maskz_cvtps_epi32(0xffff, inside)));
#elif defined(__AVX2__)
    const __m256 number = _mm256_and_ps(in, _mm256_cmp_ps(in, in, _CMP_ORD_Q));
    const __m256 inside = _mm256_min_ps(high, _mm256_max_ps(low, number));
    return resized<Integer, int32_t>(reinterpret_cast<Ints>(_mm256_cvtps_epi32(inside)));
#else
    const Floats number = in == in ? in : Floats{};
    const Floats above = number < low ? low : number, inside = above > high ? high : above;
    constexpr float magic = 12582912.0f;
    return resized<Integer, int32_t>(reinterpret_cast<Ints>(inside + magic) -
                                     reinterpret_cast<Ints>(Floats{} + magic));
#endif
  }
};

using U8 = Whole<uint8_t, 0, 255>;
using I8 = Whole<int8_t, -128, 127>;
using U16 = Whole<uint16_t, 0, 65535>;
using I16 = Whole<int16_t, -32768, 32767>;

}  // namespace
}  // namespace infini::cpu
