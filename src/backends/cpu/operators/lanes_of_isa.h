// The lane kernels over the compilers' vectors: included once per instruction set, after `Native` is defined there.
//
// Native: vector_bytes, f32_from_f16(Half) and f16_from_f32(Floats).
#pragma once

#include <cmath>
#include <cstring>

#include "backends/cpu/operators/lanes.h"

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
inline Floats splat(float x) { return x - Floats{}; }

// body(vector of each source) -> vector, for whole vectors and then for the rest by way of a buffer.
template <class Body, class... Sources>
void each(float* out, int64_t count, Body body, const Sources*... sources) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(out + i, body(load<Floats>(sources + i)...));
  if (i == count) return;
  const auto rest = static_cast<size_t>(count - i);
  const auto part = [&](const float* p) {
    Floats v{};
    std::memcpy(&v, p + i, rest * sizeof(float));
    return v;
  };
  const Floats v = body(part(sources)...);
  std::memcpy(out + i, &v, rest * sizeof(float));
}

// exp(x) by 2^k times a polynomial: x = k·ln 2 + r with |r| <= ln 2 / 2, of which the Taylor series up to r^7 leaves out
// less than 2^-27. Below 2^-126 it is 0, above the largest f32 infinite; NaN stays NaN.
inline Floats exponential(Floats x) {
  const Floats most = splat(88.72283f), least = splat(-87.33654f);
  const Floats low = x < least ? least : x, clamped = low > most ? most : low;
  const Floats scaled = clamped * 1.44269504f;
  const Floats magic = splat(12582912.0f);  // 1.5·2^23: adding it rounds to an integer
  const Floats k = (scaled + magic) - magic;
  const Floats r = (clamped - k * 0.693359375f) - k * -2.12194440e-4f;
  constexpr float terms[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
  Floats p = splat(1.0f / 5040);
  for (const float term : terms) p = p * r + term;
  // In two steps, since 2^128 is no f32.
  const Ints whole = __builtin_convertvector(k, Ints), half = whole >> 1;
  const Floats a = reinterpret_cast<Floats>((half + 127) << 23),
               b = reinterpret_cast<Floats>((whole - half + 127) << 23);
  const Floats value = p * a * b;
  const Floats above = x > most ? splat(INFINITY) : value;
  const Floats both = x < least ? Floats{} : above;
  return x == x ? both : x;
}

struct LaneMath {
  using Scalar = float;
  static Floats exp(Floats x) { return exponential(x); }
  static Floats erfc(Floats x) {
    for (int i = 0; i < lanes; ++i) x[i] = static_cast<float>(std::erfc(static_cast<double>(x[i])));
    return x;
  }
};

void from_f16(float* out, const void* in, int64_t count) {
  const auto* from = static_cast<const uint16_t*>(in);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(out + i, Native::f32_from_f16(load<Half>(from + i)));
  if (i == count) return;
  const auto rest = static_cast<size_t>(count - i);
  Half half{};
  std::memcpy(&half, from + i, rest * 2);
  const auto wide = Native::f32_from_f16(half);
  std::memcpy(out + i, &wide, rest * 4);
}

void from_bf16(float* out, const void* in, int64_t count) {
  const auto* from = static_cast<const uint16_t*>(in);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(out + i, __builtin_convertvector(load<Half>(from + i), Words) << 16);
  for (; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + i, 2);
    const uint32_t word = uint32_t{bits} << 16;
    std::memcpy(out + i, &word, 4);
  }
}

template <class Narrowed>
void narrow(void* out, const float* in, int64_t count, Narrowed narrowed) {
  auto* to = static_cast<uint16_t*>(out);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, narrowed(load<Floats>(in + i)));
  if (i == count) return;
  const auto rest = static_cast<size_t>(count - i);
  Floats v{};
  std::memcpy(&v, in + i, rest * 4);
  const auto half = narrowed(v);
  std::memcpy(to + i, &half, rest * 2);
}
void to_f16(void* out, const float* in, int64_t count) {
  narrow(out, in, count, [](Floats v) { return Native::f16_from_f32(v); });
}
void to_bf16(void* out, const float* in, int64_t count) {
  narrow(out, in, count, [](Floats v) {
    const Words bits = reinterpret_cast<Words>(v);
    const Words rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const Words result = v == v ? rounded : (bits | 0x400000u);
    return __builtin_convertvector(result >> 16, Half);
  });
}

template <Function f>
void map(float* out, const float* a, [[maybe_unused]] const float* b, int64_t count) {
  if constexpr (facts_of(f).operands == 3)
    each(
        out, count, [](Floats x, Floats y) { return formula<f, LaneMath>(x, y); }, a, b);
  else
    each(
        out, count, [](Floats x) { return formula<f, LaneMath>(x, x); }, a);
}

// All elementwise functions that compute; what only changes the type has a way of its own.
template <int i = 0>
constexpr void take_maps(LaneKernels& kernels) {
  if constexpr (functions[i].takes != Takes::anything)
    kernels.maps[i] = map<static_cast<Function>(i)>;
  if constexpr (i + 1 < elementwise_count) take_maps<i + 1>(kernels);
}

inline float total(Floats sum) {
  float result = 0;
  for (int i = 0; i < lanes; ++i) result += sum[i];
  return result;
}

float sum_squares(const float* x, int64_t count) {
  Floats sums[2] = {};
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes)
    for (int k = 0; k < 2; ++k) {
      const Floats v = load<Floats>(x + i + k * lanes);
      sums[k] += v * v;
    }
  float rest = 0;
  for (; i < count; ++i) rest += x[i] * x[i];
  return total(sums[0] + sums[1]) + rest;
}

void scaled(float* out, const float* x, const float* w, float factor, int64_t count) {
  each(
      out, count, [&](Floats a, Floats b) { return a * factor * b; }, x, w);
}

float largest(const float* x, int64_t count) {
  float most = -INFINITY;
  int64_t i = 0;
  if (count >= lanes) {
    Floats best = load<Floats>(x);
    for (i = lanes; i + lanes <= count; i += lanes) {
      const Floats v = load<Floats>(x + i);
      best = ((v > best) | (v != v)) ? v : best;  // a NaN is kept: nothing is greater than it
    }
    for (int k = 0; k < lanes; ++k) most = best[k] > most || best[k] != best[k] ? best[k] : most;
  }
  for (; i < count; ++i) most = x[i] > most || x[i] != x[i] ? x[i] : most;
  return most;
}

float exponentials(float* out, const float* x, float shift, float factor, int64_t count) {
  Floats sum{};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Floats v = exponential(load<Floats>(x + i) - shift) * factor;
    if (out != nullptr) store(out + i, v);
    sum += v;
  }
  if (i < count) {
    const auto rest = static_cast<size_t>(count - i);
    Floats v = splat(-INFINITY);
    std::memcpy(&v, x + i, rest * 4);
    v = exponential(v - shift) * factor;
    if (out != nullptr) std::memcpy(out + i, &v, rest * 4);
    for (size_t k = 0; k < rest; ++k) sum[static_cast<int>(k)] += v[static_cast<int>(k)];
  }
  return total(sum);
}

void rotate(float* p, float* q, const float* a, const float* b, const float* sin, const float* cos,
            int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Floats x = load<Floats>(a + i), y = load<Floats>(b + i), s = load<Floats>(sin + i),
                 c = load<Floats>(cos + i);
    store(p + i, x * c - y * s);
    store(q + i, x * s + y * c);
  }
  for (; i < count; ++i) {
    const float x = a[i], y = b[i];
    p[i] = x * cos[i] - y * sin[i];
    q[i] = x * sin[i] + y * cos[i];
  }
}

constexpr LaneKernels make_table() {
  LaneKernels all{from_f16,    from_bf16, to_f16,  to_bf16,      {},
                  sum_squares, scaled,    largest, exponentials, rotate};
  take_maps(all);
  return all;
}
constexpr LaneKernels table = make_table();

}  // namespace
}  // namespace infini::cpu
