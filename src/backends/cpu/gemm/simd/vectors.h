// Vectors over the compilers' extensions, and the elements of memory that they are read from and
// written to. Included by gemm_simd.h alone, and so compiled once per instruction set.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"

namespace infini::cpu {
namespace {

template <class T>
struct Simd {
  static constexpr int lanes = Native::vector_bytes / static_cast<int>(sizeof(T));
  typedef T Vec __attribute__((vector_size(Native::vector_bytes)));
  // The same, where memory is aligned to elements only.
  typedef T Loose
      __attribute__((vector_size(Native::vector_bytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vec = typename Simd<T>::Vec;

template <class T>
Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename Simd<T>::Loose*>(p);
}
template <class T>
void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename Simd<T>::Loose*>(p) = v;
}
template <class T>
Vec<T> splat(T value) {
  return value - Vec<T>{};
}  // x - 0 is x, so that nothing is computed

// ---- elements of memory (S) and of arithmetic (T): wide<T>(p) loads lanes of T ----

constexpr int f32_lanes = Simd<float>::lanes;
typedef uint16_t Half __attribute__((vector_size(f32_lanes * 2)));
typedef uint16_t LooseHalf __attribute__((vector_size(f32_lanes * 2), aligned(2), may_alias));
typedef uint32_t Word __attribute__((vector_size(f32_lanes * 4)));

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

inline Vec<float> wide(const float* p) { return load(p); }
inline Vec<double> wide(const double* p) { return load(p); }
inline Vec<float> widened(BF16, Half half) {
  return reinterpret_cast<Vec<float>>(__builtin_convertvector(half, Word) << 16);
}
inline Vec<float> widened(F16, Half half) { return Native::f32_from_f16(half); }
inline Vec<float> wide(const BF16* p) {
  return widened(BF16{}, *reinterpret_cast<const LooseHalf*>(p));
}
inline Vec<float> wide(const F16* p) {
  return widened(F16{}, *reinterpret_cast<const LooseHalf*>(p));
}
// The first lanes of a vector, the others are zeros. Without masks whole vectors are read, which the
// callers see to; wide_part and narrow_part always keep to the `count` elements.
using Mask = typename Native::Mask;
template <class T>
Vec<T> load_first(const T* p, Mask mask) {
  if constexpr (Native::masks)
    return Native::load(p, mask);
  else
    return load(p);
}

inline float one(const float* p) { return *p; }
inline double one(const double* p) { return *p; }
inline float one(const BF16* p) {
  const uint32_t word = uint32_t{p->bits} << 16;
  float value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}
inline float one(const F16* p) { return Native::f32_from_one_f16(p->bits); }

// Rounds to nearest even; NaN stays NaN.
inline void narrow(float* p, Vec<float> v) { store(p, v); }
inline void narrow(double* p, Vec<double> v) { store(p, v); }
inline Half narrowed(BF16, Vec<float> v) {
  const Word bits = reinterpret_cast<Word>(v);
  const Word rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const Word result = (v == v) ? rounded : (bits | 0x400000u);
  return __builtin_convertvector(result >> 16, Half);
}
inline Half narrowed(F16, Vec<float> v) { return Native::f16_from_f32(v); }
inline void narrow(BF16* p, Vec<float> v) {
  *reinterpret_cast<LooseHalf*>(p) = narrowed(BF16{}, v);
}
inline void narrow(F16* p, Vec<float> v) { *reinterpret_cast<LooseHalf*>(p) = narrowed(F16{}, v); }

template <class T, class S>
Vec<T> wide_part(const S* p, int count) {
  if constexpr (Native::masks && sizeof(S) == sizeof(T)) {
    return load_first(p, Native::first(count));
  } else if constexpr (Native::masks) {
    return widened(S{}, reinterpret_cast<Half>(Native::load_half(p, Native::first(count))));
  } else {
    T line[Simd<T>::lanes] = {};
    for (int i = 0; i < count; ++i) line[i] = one(p + i);
    return load(line);
  }
}
template <class T, class S>
void narrow_part(S* p, int count, Vec<T> v) {
  if constexpr (Native::masks && sizeof(S) == sizeof(T)) {
    Native::store(p, Native::first(count), v);
  } else if constexpr (Native::masks) {
    Native::store_half(p, Native::first(count), narrowed(S{}, v));
  } else {
    S line[Simd<T>::lanes];
    narrow(line, v);
    for (int i = 0; i < count; ++i) p[i] = line[i];
  }
}

// The first `count` elements at p, which `mask` names, too, where there are masks.
template <class T>
Vec<T> load_part(const T* p, Mask mask, int count) {
  if constexpr (Native::masks)
    return Native::load(p, mask);
  else
    return count == Simd<T>::lanes ? load(p) : wide_part<T>(p, count);
}
template <class T>
void store_part(T* p, Mask mask, int count, Vec<T> v) {
  if constexpr (Native::masks)
    Native::store(p, mask, v);
  else if (count == Simd<T>::lanes)
    store(p, v);
  else
    narrow_part<T>(p, count, v);
}

// ---- transposition of lanes×lanes elements ----

template <int half, int lanes>
constexpr int low_index(int lane) {
  return lane & half ? lanes + lane - half : lane;
}
template <int half, int lanes>
constexpr int high_index(int lane) {
  return lane & half ? lanes + lane : lane + half;
}

// Exchanges the off-diagonal half×half blocks of each 2half×2half block.
template <class T, int half, int... lane>
[[gnu::always_inline]] inline void exchange(Vec<T> (&v)[sizeof...(lane)],
                                            std::integer_sequence<int, lane...>) {
  constexpr int lanes = sizeof...(lane);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if (i & half) continue;
    const Vec<T> x = v[i], y = v[i | half];
    v[i] = __builtin_shufflevector(x, y, low_index<half, lanes>(lane)...);
    v[i | half] = __builtin_shufflevector(x, y, high_index<half, lanes>(lane)...);
  }
}

template <class T>
[[gnu::always_inline]] inline void transpose(Vec<T> (&v)[Simd<T>::lanes]) {
  constexpr auto lanes = std::make_integer_sequence<int, Simd<T>::lanes>{};
  exchange<T, 1>(v, lanes);
  if constexpr (Simd<T>::lanes > 2) exchange<T, 2>(v, lanes);
  if constexpr (Simd<T>::lanes > 4) exchange<T, 4>(v, lanes);
  if constexpr (Simd<T>::lanes > 8) exchange<T, 8>(v, lanes);
}

}  // namespace
}  // namespace infini::cpu
