// The lane kernels over the compilers' vectors: included once per instruction set, after `Native` is defined there.
//
// Native: vector_bytes, f32_from_f16(Half), f16_from_f32(Floats), words_from_halves(Half) and halves_from_words(Words).
#pragma once

#include <cmath>
#include <utility>

#include "backends/cpu/operators/lane_kinds.h"
#include "backends/cpu/operators/lane_math.h"
#include "backends/cpu/operators/lane_rotations.h"
#include "backends/cpu/operators/lanes.h"

namespace infini::cpu {
namespace {

// So many vectors are computed side by side: four occupy the units of any machine, and more than 16 registers.
constexpr int chains = 4;

// out = body(pack of each source): some packs at once, and what is less than one by way of a buffer.
template <class Kind, class Body>
struct Each {
  char* to;
  Body body;

  template <class... Sources>
  [[gnu::noinline, gnu::flatten]] void part(int64_t i, int64_t count, Sources... sources) const {
    alignas(64) char buffer[Kind::elements * Kind::bytes];
    Kind::template write<false>(buffer, body(sources.part(i, count)...));
    std::memcpy(to + i * Kind::bytes, buffer, static_cast<size_t>(count * Kind::bytes));
  }
  template <int packs, bool past, class... Sources>
  void whole(int64_t i, Sources... sources) const {
    write_packs<Kind, past>(to + i * Kind::bytes, body(sources.template whole<packs>(i)...));
  }
};

// What goes past the caches begins with a whole line; the elements before it do not.
template <class Kind, class Body, class... Sources>
void each(void* out, int64_t count, bool far, Body body, Sources... sources) {
  constexpr int packs = chains / Kind::vectors;
  constexpr int64_t one = Kind::elements, many = packs * one;
  const Each<Kind, Body> kernel{static_cast<char*>(out), body};
  int64_t i = 0;
  const auto before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(out) % 64);
  if (far && before % Kind::bytes == 0 && count >= before / Kind::bytes + many) {
    for (const int64_t head = before / Kind::bytes; i < head;) {
      const int64_t now = head - i < one ? head - i : one;
      kernel.part(i, now, sources...);
      i += now;
    }
    for (; i + many <= count; i += many) {
      for (int64_t k = 0; k < many; k += one) (sources.ask(i + k), ...);
      kernel.template whole<packs, true>(i, sources...);
    }
  }
  for (; i + many <= count; i += many) kernel.template whole<packs, false>(i, sources...);
  for (; i + one <= count; i += one) kernel.template whole<1, false>(i, sources...);
  if (i < count) kernel.part(i, count - i, sources...);
}

struct LaneMath {
  using Scalar = float;
  static Floats exp(Floats x) {
    const Floats e = exponential(Pack<1>{minus_magnitude(x)}).v;
    return x > 0.0f ? 1.0f / e : e;
  }
};

// The formulas of the table, and better ones where vectors have them.
template <Function f, int n>
Pack<n> computed(Pack<n> a, [[maybe_unused]] Pack<n> b) {
  if constexpr (f == Function::swiglu)
    return a * silu(b);
  else if constexpr (f == Function::silu)
    return silu(a);
  else if constexpr (f == Function::gelu)
    return a * normal(a);
  else if constexpr (f == Function::sigmoid)
    return logistic(a);
  else
    return apply_to([](Floats x, Floats y) { return formula<f, LaneMath>(x, y); }, a, b);
}

template <class Kind, Function f>
[[gnu::flatten]] void map(void* out, const void* a, [[maybe_unused]] const void* b, int64_t count,
                          bool far) {
  const From<Kind> from{a};
  if constexpr (facts_of(f).operands == 3)
    each<Kind>(
        out, count, far, [](auto x, auto y) { return computed<f>(x, y); }, from, From<Kind>{b});
  else
    each<Kind>(
        out, count, far, [](auto x) { return computed<f>(x, x); }, from);
}

// All elementwise functions that compute; what only changes the type has a way of its own.
template <class Kind, int i = 0>
constexpr void take_maps(LaneKernels& kernels) {
  if constexpr (functions[i].takes != Takes::anything)
    kernels.maps[i] = map<Kind, static_cast<Function>(i)>;
  if constexpr (i + 1 < elementwise_count) take_maps<Kind, i + 1>(kernels);
}

template <class To, class Kind>
[[gnu::flatten]] void cast(void* out, const void* in, int64_t count, bool far) {
  each<To>(
      out, count, far, [](auto x) { return x; }, From<Kind>{in});
}

inline float total(Floats sum) {
  float result = 0;
  for (int i = 0; i < lanes; ++i) result += sum[i];
  return result;
}

// take(pack of `chains` vectors or fewer) for all elements; behind the last one lie the kind's least, or zeros.
template <class Kind, class Take>
void reduce(const void* x, int64_t count, bool far, bool least, Take take) {
  constexpr int packs = chains / Kind::vectors;
  constexpr int64_t one = Kind::elements, many = packs * one;
  const From<Kind> from{x};
  int64_t i = 0;
  for (; i + many <= count; i += many) {
    if (far)
      for (int64_t k = 0; k < many; k += one) from.ask(i + k);
    take(from.template whole<packs>(i));
  }
  for (; i + one <= count; i += one) take(from.template whole<1>(i));
  if (i < count) take(from.part(i, count - i, least));
}

// One sum for each of the vectors that are taken at once.
struct Sums {
  Floats of[chains] = {};
  template <int n>
  void add(Pack<n> pack) {
    add(pack, std::make_integer_sequence<int, n>{});
  }
  template <int n, int... k>
  void add(Pack<n> pack, std::integer_sequence<int, k...>) {
    ((of[k] += vector_of<k>(pack)), ...);
  }
  float total() const {
    Floats sum{};
    for (const Floats& one : of) sum += one;
    float result = 0;
    for (int i = 0; i < lanes; ++i) result += sum[i];
    return result;
  }
};

template <class Kind>
[[gnu::flatten]] float sum_squares(const void* x, int64_t count, bool far) {
  Sums sums;
  reduce<Kind>(x, count, far, false, [&](auto pack) { sums.add(pack * pack); });
  return sums.total();
}

// A source whose elements are in the caches, or asked for by others. Bytes from `next` on are asked for instead.
template <class Kind>
struct Near : From<Kind> {
  const char* next = nullptr;
  template <int packs>
  auto whole(int64_t i) const {
    if (next != nullptr)
      for (int k = 0; k < packs; ++k)
        __builtin_prefetch(next + (i + k * Kind::elements) * Kind::bytes, 0, 3);
    return From<Kind>::template whole<packs>(i);
  }
  void ask(int64_t) const {}
};

template <class Kind, class W>
[[gnu::flatten]] void scaled(void* out, const void* x, const void* w, float factor, int64_t count,
                             bool far, const void* next) {
  each<Kind>(
      out, count, far, [=](auto a, auto b) { return a * factor * b; },
      Near<Kind>{{x}, static_cast<const char*>(next)}, Near<W>{{w}});
}

template <class Kind>
[[gnu::flatten]] float largest(const void* x, int64_t count, bool far) {
  Floats best[chains];
  for (Floats& b : best) b = splat(-INFINITY);
  const auto take = [](Floats& b, Floats v) { b = v > b ? v : b; };
  reduce<Kind>(x, count, far, true, [&]<int n>(Pack<n> pack) {
    [&]<int... k>(std::integer_sequence<int, k...>) { (take(best[k], vector_of<k>(pack)), ...); }
    (std::make_integer_sequence<int, n>{});
  });
  float most = -INFINITY;
  for (const Floats& b : best)
    for (int k = 0; k < lanes; ++k) most = b[k] > most ? b[k] : most;
  return most;
}

template <class Kind>
[[gnu::flatten]] float sum_exponentials(const void* x, float shift, int64_t count,
                                        const void* next) {
  Sums sums;
  const auto* ask = static_cast<const char*>(next);
  reduce<Kind>(x, count, false, true, [&]<int n>(Pack<n> pack) {
    constexpr int64_t bytes = n / Kind::vectors * Kind::elements * Kind::bytes;
    if (ask != nullptr) {
      for (int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(ask + line, 0, 3);
      ask += bytes;
    }
    sums.add(exponential(pack - shift));
  });
  return sums.total();
}

template <class Kind>
[[gnu::flatten]] void exponentials(void* out, const void* x, float shift, float factor,
                                   int64_t count, bool far) {
  each<Kind>(
      out, count, far, [=](auto pack) { return exponential(pack - shift) * factor; },
      Near<Kind>{{x}});
}

// A source of zeros.
template <class Kind>
struct Zeros {
  template <int packs>
  auto whole(int64_t) const {
    return Pack<packs * Kind::vectors>{};
  }
  auto part(int64_t, int64_t) const { return Pack<Kind::vectors>{}; }
  void ask(int64_t) const {}
};

template <class Kind>
[[gnu::flatten]] void zeros(void* out, int64_t count, bool far) {
  each<Kind>(
      out, count, far, [](auto nothing) { return nothing; }, Zeros<Kind>{});
}

template <class Kind>
constexpr LaneKernels make_kernels() {
  using Own = typename Alone<Kind>::type;
  LaneKernels all{{},
                  {cast<F32, Kind>, cast<F16, Kind>, cast<BF16, Kind>},
                  sum_squares<Own>,
                  {scaled<Kind, F32>, scaled<Kind, F16>, scaled<Kind, BF16>},
                  largest<Own>,
                  sum_exponentials<Own>,
                  exponentials<Own>,
                  zeros<Own>,
                  rotate<Own>,
                  rotate_pairs<Kind>};
  constexpr int own = Kind::bytes == 4 ? 0 : Kind::least == F16::least ? 1 : 2;
  all.scaled[own] = scaled<Own, Own>;
  take_maps<Own>(all);
  return all;
}
constexpr LaneTable table{{make_kernels<F32>(), make_kernels<F16>(), make_kernels<BF16>()}};

}  // namespace
}  // namespace infini::cpu
