// Conversions over the compilers' vectors: included once per instruction set, after `Native` is defined there.
//
// Native: vector_bytes of the f32 vectors, f32_from_f16(Halves) and f16_from_f32(Floats), which round to nearest even.
#pragma once

#include <cstring>
#include <type_traits>

#include "backends/cpu/convert/lanes.h"
#include "backends/cpu/machine/store_past.h"

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

// What is read is asked for so many bytes ahead.
constexpr int64_t ahead_bytes = 2048;

template <class V>
inline void ask(const char* at) {
  for (size_t line = 0; line < sizeof(V); line += 64)
    __builtin_prefetch(at + ahead_bytes + line, 0, 3);
}

// out[i] = body(in[i], i) for vectors of `lanes` elements, the last one by way of a buffer.
template <class To, class From, class Body>
inline void each(void* out, const void* in, int64_t count, Flow flow, Body body) {
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<const char*>(in);
  constexpr auto alignment = sizeof(Vector<To>) < 64 ? sizeof(Vector<To>) : 64;
  const bool past = flow.past && reinterpret_cast<uintptr_t>(to) % alignment == 0;
  int64_t i = 0;
  const auto whole = [&](auto store) {
    for (; i + lanes <= count; i += lanes) {
      const char* const at = from + i * int64_t{sizeof(From)};
      if (flow.far) ask<Vector<From>>(at);
      store(to + i * int64_t{sizeof(To)}, body(load_lanes<Vector<From>>(at), i));
    }
  };
  if (past)
    whole([](char* p, Vector<To> v) { store_past(p, v); });
  else
    whole([](char* p, Vector<To> v) { __builtin_memcpy(p, &v, sizeof v); });
  if (i == count) return;
  Vector<From> rest{};
  std::memcpy(&rest, from + i * int64_t{sizeof(From)},
              static_cast<size_t>(count - i) * sizeof(From));
  const Vector<To> v = body(rest, i);
  std::memcpy(to + i * int64_t{sizeof(To)}, &v, static_cast<size_t>(count - i) * sizeof(To));
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

  static Floats widen(Vector<Bits> in) {
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

// Integers of at most 16 bits. Adding 1.5·2^23 leaves the integer, rounded, in the low bits.
template <class Integer, int least, int most>
struct Whole {
  using type = Integer;
  static Floats widen(Vector<Integer> in) {
    return __builtin_convertvector(resized<int32_t, Integer>(in), Floats);
  }
  static Vector<Integer> narrow(Floats in, bool) {
    const Floats number = in == in ? in : Floats{};
    const Floats low = Floats{} + float{least}, high = Floats{} + float{most};
    const Floats above = number < low ? low : number, inside = above > high ? high : above;
    constexpr float magic = 12582912.0f;
    return resized<Integer, int32_t>(reinterpret_cast<Ints>(inside + magic) -
                                     reinterpret_cast<Ints>(Floats{} + magic));
  }
};

// Of the two f32 around a number the one with an odd last bit, unless it is one of them: rounding that once more to fewer bits
// gives what rounding the number itself would have given.
inline Floats to_odd(Doubles x) {
  const Floats near = __builtin_convertvector(x, Floats);
  const Doubles back = __builtin_convertvector(near, Doubles);
  const Doubles size = x < 0 ? -x : x, back_size = back < 0 ? -back : back;
  const Ints below = __builtin_convertvector(back_size < size, Ints),
             above = __builtin_convertvector(back_size > size, Ints);
  const Ints bits = reinterpret_cast<Ints>(near), even = (bits & 1) - 1;  // all ones where even
  return reinterpret_cast<Floats>(bits - (below & even) + (above & even));
}

// Integers of 32 bits. Adding 1.5·2^52 leaves the integer, rounded, in the low bits.
template <class Integer>
inline Vector<Integer> whole_wide(Doubles x, double least, double most) {
  const Doubles number = x == x ? x : Doubles{};
  const Doubles low = Doubles{} + least, high = Doubles{} + most;
  const Doubles above = number < low ? low : number, inside = above > high ? high : above;
  return __builtin_convertvector(reinterpret_cast<Longs>(inside + 6755399441055744.0),
                                 Vector<Integer>);
}

template <class F>
void widen_of(float* out, const void* in, int64_t count, Flow flow) {
  each<float, typename F::type>(out, in, count, flow, [](auto v, int64_t) { return F::widen(v); });
}
template <class F>
void narrow_of(void* out, const float* in, bool saturates, int64_t count, Flow flow) {
  each<typename F::type, float>(out, in, count, flow,
                                [=](Floats v, int64_t) { return F::narrow(v, saturates); });
}
template <class F>
void widen_wide_of(double* out, const void* in, int64_t count, Flow flow) {
  each<double, typename F::type>(out, in, count, flow, [](auto v, int64_t) {
    return __builtin_convertvector(F::widen(v), Doubles);
  });
}
template <class F>
void narrow_wide_of(void* out, const double* in, bool saturates, int64_t count, Flow flow) {
  each<typename F::type, double>(
      out, in, count, flow, [=](Doubles v, int64_t) { return F::narrow(to_odd(v), saturates); });
}
template <class Integer>
void widen_integers(double* out, const void* in, int64_t count, Flow flow) {
  each<double, Integer>(out, in, count, flow,
                        [](auto v, int64_t) { return __builtin_convertvector(v, Doubles); });
}
void narrow_i32(void* out, const double* in, bool, int64_t count, Flow flow) {
  each<int32_t, double>(out, in, count, flow, [](Doubles v, int64_t) {
    return whole_wide<int32_t>(v, -2147483648.0, 2147483647.0);
  });
}
void narrow_u32(void* out, const double* in, bool, int64_t count, Flow flow) {
  each<uint32_t, double>(out, in, count, flow, [](Doubles v, int64_t) {
    return whole_wide<uint32_t>(v, 0, 4294967295.0);
  });
}
void narrow_f32(void* out, const double* in, bool saturates, int64_t count, Flow flow) {
  each<float, double>(out, in, count, flow, [=](Doubles v, int64_t) {
    return F32::narrow(__builtin_convertvector(v, Floats), saturates);
  });
}
void widen_f64(double* out, const void* in, int64_t count, Flow flow) {
  each<double, double>(out, in, count, flow, [](Doubles v, int64_t) { return v; });
}
void narrow_f64(void* out, const double* in, bool saturates, int64_t count, Flow flow) {
  each<double, double>(out, in, count, flow, [=](Doubles v, int64_t) {
    const Longs bits = reinterpret_cast<Longs>(v), magnitude = bits & INT64_MAX;
    const Longs infinite = magnitude == 0x7ff0000000000000;  // all ones: one less
    return saturates ? reinterpret_cast<Doubles>(bits + infinite) : v;
  });
}

template <class T>
inline Vector<T> fused(Vector<T> x, Vector<T> a, Vector<T> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return reinterpret_cast<Floats>(_mm512_fmadd_ps(x, a, b));
#elif defined(__FMA__)
  if constexpr (sizeof(T) == 4) return reinterpret_cast<Floats>(_mm256_fmadd_ps(x, a, b));
#endif
  Vector<T> result;
  for (int i = 0; i < lanes; ++i)
    if constexpr (sizeof(T) == 4)
      result[i] = __builtin_fmaf(x[i], a[i], b[i]);
    else
      result[i] = __builtin_fma(x[i], a[i], b[i]);
  return result;
}
// A vector of a table from element i on; of one number that.
template <class T>
inline Vector<T> numbers_at(const T* table, int step, int64_t i, int64_t count) {
  if (step == 0) return Vector<T>{} + *table;
  if (i + lanes <= count) return load_lanes<Vector<T>>(table + i);
  Vector<T> rest{};
  std::memcpy(&rest, table + i, static_cast<size_t>(count - i) * sizeof(T));
  return rest;
}
template <class T>
void scale_of(T* out, const T* x, const T* a, int a_step, const T* b, int b_step, int64_t count,
              Flow flow) {
  if (a_step == 0 && b_step == 0) {
    const Vector<T> factor = Vector<T>{} + *a, term = Vector<T>{} + *b;
    return each<T, T>(out, x, count, flow,
                      [=](Vector<T> v, int64_t) { return fused<T>(v, factor, term); });
  }
  each<T, T>(out, x, count, flow, [=](Vector<T> v, int64_t i) {
    return fused<T>(v, numbers_at(a, a_step, i, count), numbers_at(b, b_step, i, count));
  });
}

using U8 = Whole<uint8_t, 0, 255>;
using I8 = Whole<int8_t, -128, 127>;
using U16 = Whole<uint16_t, 0, 65535>;
using I16 = Whole<int16_t, -32768, 32767>;

constexpr ConvertLanes table{
    {widen_of<U8>, widen_of<I8>, widen_of<U16>, widen_of<I16>, widen_of<E4M3>, widen_of<E5M2>,
     widen_of<F16>, widen_of<BF16>, widen_of<F32>},
    {narrow_of<U8>, narrow_of<I8>, narrow_of<U16>, narrow_of<I16>, narrow_of<E4M3>, narrow_of<E5M2>,
     narrow_of<F16>, narrow_of<BF16>, narrow_of<F32>},
    {widen_wide_of<U8>, widen_wide_of<I8>, widen_wide_of<U16>, widen_wide_of<I16>,
     widen_wide_of<E4M3>, widen_wide_of<E5M2>, widen_wide_of<F16>, widen_wide_of<BF16>,
     widen_wide_of<F32>, widen_integers<int32_t>, widen_integers<uint32_t>, widen_f64},
    {narrow_wide_of<U8>, narrow_wide_of<I8>, narrow_wide_of<U16>, narrow_wide_of<I16>,
     narrow_wide_of<E4M3>, narrow_wide_of<E5M2>, narrow_wide_of<F16>, narrow_wide_of<BF16>,
     narrow_f32, narrow_i32, narrow_u32, narrow_f64},
    scale_of<float>,
    scale_of<double>};

}  // namespace
}  // namespace infini::cpu
