// The lane kernels over the compilers' vectors: included once per instruction set, after `Native` is defined there.
//
// Native: vector_bytes, f32_from_f16(Half) and f16_from_f32(Floats).
#pragma once

#include <cmath>
#include <cstring>

#include "backends/cpu/operators/lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {
namespace {

constexpr int lanes = Native::vector_bytes / 4;
typedef float Floats __attribute__((vector_size(Native::vector_bytes)));
typedef int32_t Ints __attribute__((vector_size(Native::vector_bytes)));
typedef uint32_t Words __attribute__((vector_size(Native::vector_bytes)));
typedef uint16_t Half __attribute__((vector_size(Native::vector_bytes / 2)));

template <class Vector>
Vector load(const void* p) {
  Vector v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class Vector>
void store(void* p, Vector v) {
  __builtin_memcpy(p, &v, sizeof v);
}
// What is read is asked for so many bytes ahead.
constexpr int64_t ahead_bytes = 2048;

inline Floats splat(float x) { return x - Floats{}; }

// Past the caches, where the machine has such stores; p is aligned.
template <class Vector>
void store_past(void* p, Vector v) {
#if defined(__x86_64__)
  if constexpr (sizeof v == 64)
    return _mm512_stream_si512(static_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
  else if constexpr (sizeof v == 32)
    return _mm256_stream_si256(static_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
  else if constexpr (sizeof v == 16)
    return _mm_stream_si128(static_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
  else
#endif
    store(p, v);
}

// A kind of elements: as they lie in memory, and as f32.
struct F32 {
  static constexpr int64_t bytes = 4;
  using Packed = Floats;
  static Floats widen(Floats v) { return v; }
  static Floats narrow(Floats v) { return v; }
};
struct F16 {
  static constexpr int64_t bytes = 2;
  using Packed = Half;
  static Floats widen(Half v) { return reinterpret_cast<Floats>(Native::f32_from_f16(v)); }
  static Half narrow(Floats v) { return reinterpret_cast<Half>(Native::f16_from_f32(v)); }
};
struct BF16 {
  static constexpr int64_t bytes = 2;
  using Packed = Half;
  static Floats widen(Half v) {
    return reinterpret_cast<Floats>(__builtin_convertvector(v, Words) << 16);
  }
  static Half narrow(Floats v) {
    const Words bits = reinterpret_cast<Words>(v);
    const Words rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const Words result = v == v ? rounded : (bits | 0x400000u);
    return __builtin_convertvector(result >> 16, Half);
  }
};

// An array of elements of a kind, read a vector at a time.
template <class Kind>
struct From {
  const void* array;
  const char* at(int64_t i) const { return static_cast<const char*>(array) + i * Kind::bytes; }
  Floats whole(int64_t i) const { return Kind::widen(load<typename Kind::Packed>(at(i))); }
  Floats part(int64_t i, int64_t count) const {
    typename Kind::Packed v{};
    std::memcpy(&v, at(i), static_cast<size_t>(count * Kind::bytes));
    return Kind::widen(v);
  }
  void ask(int64_t i) const { __builtin_prefetch(at(i) + ahead_bytes, 0, 3); }
};

// body(vector of each source) -> vector, for whole vectors and then for the rest by way of a buffer.
template <class Kind, class Body, class... Sources>
void each(void* out, int64_t count, bool far, Body body, Sources... sources) {
  using Packed = typename Kind::Packed;
  auto* const to = static_cast<char*>(out);
  int64_t i = 0;
  if (far && reinterpret_cast<uintptr_t>(to) % sizeof(Packed) == 0)
    for (; i + lanes <= count; i += lanes) {
      (sources.ask(i), ...);
      store_past(to + i * Kind::bytes, Kind::narrow(body(sources.whole(i)...)));
    }
  for (; i + lanes <= count; i += lanes)
    store(to + i * Kind::bytes, Kind::narrow(body(sources.whole(i)...)));
  if (i == count) return;
  const Packed v = Kind::narrow(body(sources.part(i, count - i)...));
  std::memcpy(to + i * Kind::bytes, &v, static_cast<size_t>((count - i) * Kind::bytes));
}

// exp(x) by 2^k times a polynomial: x = k·ln 2 + r with |r| <= ln 2 / 2, where 1 + r + r²·f(r) is less than 2^-27 off (f fitted
// in Chebyshev's points). Below 2^-125 it is 0, above the largest f32 infinite; NaN stays NaN.
inline Floats exponential(Floats x) {
  const Floats most = splat(89.0f), least = splat(-86.6f);
  const Floats low = x < least ? least : x, clamped = low > most ? most : low;
  // 1.5·2^23: adding it leaves the integer, rounded, in the low bits.
  const Floats magic = splat(12582912.0f), shifted = clamped * 1.44269504f + magic;
  const Floats k = shifted - magic;
  const Floats r = (clamped - k * 0.693359375f) - k * -2.12194440e-4f;
  constexpr float terms[] = {0.00836910866f, 0.0416662693f, 0.166665167f, 0.5f, 1.0f, 1.0f};
  Floats p = splat(0.00139461376f);
  for (const float term : terms) p = p * r + term;
  // By 2^(k - 1) and twice, since 2^128 is no f32; above 88.73 that is infinite.
  const Floats power =
      reinterpret_cast<Floats>((reinterpret_cast<Words>(shifted) << 23) + (126u << 23));
  const Floats half = p * power;
  return x < least ? Floats{} : half + half;
}

// erfc(x) = f(q) / (1 + 2x) · exp(-x²) for x >= 0, where q = (x - 2) / (x + 2): a fit in Chebyshev's points of [0, 10.1], 0.3·2^-24
// off. Beyond that range the exponential is 0.
inline Floats complement(Floats x) {
  constexpr float terms[] = {-0.001239668f,   0.00132064172f, 0.00864139479f,
                             -0.00806208793f, -0.0542073734f, 0.16405566f,
                             -0.166031107f,   -0.0927639976f, 1.27697837f};
  const Floats size = x < Floats{} ? -x : x;
  const Floats z = size > 11.0f ? splat(11.0f) : size;  // NaN stays
  const Floats q = (z - 2.0f) / (z + 2.0f);
  Floats p = splat(-0.000408588181f);
  for (const float term : terms) p = p * q + term;
  const Floats right = p / (1.0f + 2.0f * z) * exponential(-z * z);
  return x < Floats{} ? 2.0f - right : right;
}

struct LaneMath {
  using Scalar = float;
  static Floats exp(Floats x) { return exponential(x); }
  static Floats erfc(Floats x) { return complement(x); }
};

template <class Kind, Function f>
void map(void* out, const void* a, [[maybe_unused]] const void* b, int64_t count, bool far) {
  const From<Kind> from{a};
  if constexpr (facts_of(f).operands == 3)
    each<Kind>(
        out, count, far, [](Floats x, Floats y) { return formula<f, LaneMath>(x, y); }, from,
        From<Kind>{b});
  else
    each<Kind>(
        out, count, far, [](Floats x) { return formula<f, LaneMath>(x, x); }, from);
}

// All elementwise functions that compute; what only changes the type has a way of its own.
template <class Kind, int i = 0>
constexpr void take_maps(LaneKernels& kernels) {
  if constexpr (functions[i].takes != Takes::anything)
    kernels.maps[i] = map<Kind, static_cast<Function>(i)>;
  if constexpr (i + 1 < elementwise_count) take_maps<Kind, i + 1>(kernels);
}

template <class To, class Kind>
void cast(void* out, const void* in, int64_t count, bool far) {
  each<To>(
      out, count, far, [](Floats x) { return x; }, From<Kind>{in});
}

inline float total(Floats sum) {
  float result = 0;
  for (int i = 0; i < lanes; ++i) result += sum[i];
  return result;
}

template <class Kind>
float sum_squares(const void* x, int64_t count, bool far) {
  const From<Kind> from{x};
  Floats sums[2] = {};
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes)
    for (int k = 0; k < 2; ++k) {
      if (far) from.ask(i + k * lanes);
      const Floats v = from.whole(i + k * lanes);
      sums[k] += v * v;
    }
  for (; i < count; i += lanes) {
    const Floats v = i + lanes <= count ? from.whole(i) : from.part(i, count - i);
    sums[0] += v * v;
  }
  return total(sums[0] + sums[1]);
}

template <class Kind>
void scaled(void* out, const void* x, const float* w, float factor, int64_t count, bool far) {
  // What is read lies in the caches: it was read for the sum.
  each<Kind>(
      out, count, far, [&](Floats a, Floats b) { return a * factor * b; }, From<Kind>{x},
      From<F32>{w});
}

template <class Kind>
void times(void* out, const float* x, float factor, int64_t count, bool far) {
  each<Kind>(
      out, count, far, [&](Floats a) { return a * factor; }, From<F32>{x});
}

template <class Kind>
float largest(const void* x, int64_t count, bool far) {
  const From<Kind> from{x};
  Floats best = splat(-INFINITY);
  const auto take = [&](Floats v) {
    best = ((v > best) | (v != v)) ? v : best;  // a NaN is kept: nothing is greater than it
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (far) from.ask(i);
    take(from.whole(i));
  }
  float most = -INFINITY;
  const auto settle = [&](float v) { most = v > most || v != v ? v : most; };
  for (int k = 0; k < lanes; ++k) settle(best[k]);
  if (i == count) return most;
  const Floats rest = from.part(i, count - i);
  for (int64_t k = 0; k < count - i; ++k) settle(rest[static_cast<int>(k)]);
  return most;
}

template <class Kind>
float exponentials(float* out, const void* x, float shift, int64_t count) {
  const From<Kind> from{x};
  Floats sum{};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Floats v = exponential(from.whole(i) - shift);
    if (out != nullptr) store(out + i, v);
    sum += v;
  }
  if (i == count) return total(sum);
  const int64_t rest = count - i;
  const Floats v = exponential(from.part(i, rest) - shift);
  if (out != nullptr) std::memcpy(out + i, &v, static_cast<size_t>(rest) * 4);
  for (int64_t k = 0; k < rest; ++k) sum[static_cast<int>(k)] += v[static_cast<int>(k)];
  return total(sum);
}

template <class Kind>
void rotate(void* p, void* q, const void* a, const void* b, const float* sin, const float* cos,
            int64_t count, bool far) {
  // p or q may be a and b: a vector of both is read before either is written.
  const From<Kind> first{a}, second{b};
  const From<F32> s{sin}, c{cos};
  auto *const to = static_cast<char*>(p), *const other = static_cast<char*>(q);
  const bool past = far && (reinterpret_cast<uintptr_t>(p) | reinterpret_cast<uintptr_t>(q)) %
                                   sizeof(typename Kind::Packed) ==
                               0;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (far) first.ask(i), second.ask(i);
    const Floats x = first.whole(i), y = second.whole(i), u = s.whole(i), v = c.whole(i);
    const auto turned = Kind::narrow(x * v - y * u), upright = Kind::narrow(x * u + y * v);
    if (past) {
      store_past(to + i * Kind::bytes, turned);
      store_past(other + i * Kind::bytes, upright);
    } else {
      store(to + i * Kind::bytes, turned);
      store(other + i * Kind::bytes, upright);
    }
  }
  if (i == count) return;
  const int64_t rest = count - i;
  const auto bytes = static_cast<size_t>(rest * Kind::bytes);
  const Floats x = first.part(i, rest), y = second.part(i, rest), u = s.part(i, rest),
               v = c.part(i, rest);
  const auto turned = Kind::narrow(x * v - y * u), upright = Kind::narrow(x * u + y * v);
  std::memcpy(to + i * Kind::bytes, &turned, bytes);
  std::memcpy(other + i * Kind::bytes, &upright, bytes);
}

template <class Kind>
constexpr LaneKernels make_kernels() {
  LaneKernels all{{},
                  {cast<F32, Kind>, cast<F16, Kind>, cast<BF16, Kind>},
                  sum_squares<Kind>,
                  scaled<Kind>,
                  largest<Kind>,
                  exponentials<Kind>,
                  times<Kind>,
                  rotate<Kind>};
  take_maps<Kind>(all);
  return all;
}
constexpr LaneTable table{{make_kernels<F32>(), make_kernels<F16>(), make_kernels<BF16>()}};

}  // namespace
}  // namespace infini::cpu
