// Rotating pairs of elements: included once per instruction set, after `Native`.
#pragma once

#include "backends/cpu/operators/lane_kinds.h"

namespace infini::cpu {
namespace {

// A pack of pairs whose elements lie side by side: the first elements of all, and the second ones, each in order.
template <class Kind>
struct Pairs;

template <>
struct Pairs<F32> {
  template <int k>
  static Floats every_second(Floats low, Floats high) {
#if defined(__AVX512F__)
    return __builtin_shufflevector(low, high, k, k + 2, k + 4, k + 6, k + 8, k + 10, k + 12, k + 14,
                                   k + 16, k + 18, k + 20, k + 22, k + 24, k + 26, k + 28, k + 30);
#elif defined(__AVX2__)
    return __builtin_shufflevector(low, high, k, k + 2, k + 4, k + 6, k + 8, k + 10, k + 12,
                                   k + 14);
#else
    return __builtin_shufflevector(low, high, k, k + 2, k + 4, k + 6);
#endif
  }
  // Elements k, k + 1, ... of both in turns.
  template <int k>
  static Floats in_turns(Floats a, Floats b) {
#if defined(__AVX512F__)
    return __builtin_shufflevector(a, b, k, k + 16, k + 1, k + 17, k + 2, k + 18, k + 3, k + 19,
                                   k + 4, k + 20, k + 5, k + 21, k + 6, k + 22, k + 7, k + 23);
#elif defined(__AVX2__)
    return __builtin_shufflevector(a, b, k, k + 8, k + 1, k + 9, k + 2, k + 10, k + 3, k + 11);
#else
    return __builtin_shufflevector(a, b, k, k + 4, k + 1, k + 5);
#endif
  }
  static Pack<2> read(const char* p) {
    const Floats low = load<Floats>(p), high = load<Floats>(p + sizeof(Floats));
    return {{every_second<0>(low, high)}, {every_second<1>(low, high)}};
  }
  template <bool past>
  static void write(char* p, Pack<2> apart) {
    store<past>(p, in_turns<0>(apart.low.v, apart.high.v));
    store<past>(p + sizeof(Floats), in_turns<lanes / 2>(apart.low.v, apart.high.v));
  }
};
template <>
struct Pairs<F16> {
  static Pack<2> read(const char* p) {
    const Words both = load<Words>(p);
    return {{F16::widen(reinterpret_cast<Half>(Native::halves_from_words(both & 0xffffu)))},
            {F16::widen(reinterpret_cast<Half>(Native::halves_from_words(both >> 16)))}};
  }
  template <bool past>
  static void write(char* p, Pack<2> apart) {
    const auto wide = [](Floats v) {
      return reinterpret_cast<Words>(Native::words_from_halves(F16::narrow(v)));
    };
    store<past>(p, wide(apart.low.v) | wide(apart.high.v) << 16);
  }
};
template <>
struct Pairs<BF16> : BF16Pairs {};

// The first and the second elements of pairs, turned.
template <int n>
[[gnu::always_inline]] inline Pack<2 * n> turned(const Pack<2 * n>& pairs, const Pack<n>& s,
                                                 const Pack<n>& c) {
  const auto minus = [](Floats a, Floats b, Floats u, Floats v) { return a * v - b * u; };
  const auto plus = [](Floats a, Floats b, Floats u, Floats v) { return a * u + b * v; };
  return {apply_to(minus, pairs.low, pairs.high, s, c),
          apply_to(plus, pairs.low, pairs.high, s, c)};
}

// So many pairs, of 2·Kind::bytes each.
template <class Kind>
void rotate_part(char* to, const char* from, Pack<1> s, Pack<1> c, int64_t count) {
  alignas(64) char buffer[2 * sizeof(Floats)] = {};
  const auto bytes = static_cast<size_t>(count * 2 * Kind::bytes);
  std::memcpy(buffer, from, bytes);
  const Pack<2> pair = Pairs<Kind>::read(buffer);
  Pairs<Kind>::template write<false>(buffer, turned(pair, s, c));
  std::memcpy(to, buffer, bytes);
}

template <class Kind, bool past>
void rotate_whole(char* to, const char* from, From<Kind> sin, From<Kind> cos, int64_t count) {
  constexpr int64_t pair = 2 * Kind::bytes;
  for (int64_t i = 0; i < count; i += lanes) {
    const Pack<1> s = sin.template whole<1>(i), c = cos.template whole<1>(i);
    if constexpr (past)
      for (int64_t line = 0; line < lanes * pair; line += 64)
        __builtin_prefetch(from + i * pair + ahead_bytes + line, 0, 3);
    const Pack<2> both = Pairs<Kind>::read(from + i * pair);
    Pairs<Kind>::template write<past>(to + i * pair, turned(both, s, c));
  }
}

template <class Kind>
[[gnu::flatten]] void rotate_pairs(void* out, const void* in, const void* sin, const void* cos,
                                   int64_t count, bool far) {
  const From<Kind> s{sin}, c{cos};
  auto* const to = static_cast<char*>(out);
  const auto* const from = static_cast<const char*>(in);
  const int64_t whole = count - count % lanes;
  if (far && reinterpret_cast<uintptr_t>(to) % sizeof(Floats) == 0)
    rotate_whole<Kind, true>(to, from, s, c, whole);
  else
    rotate_whole<Kind, false>(to, from, s, c, whole);
  if (whole == count) return;
  constexpr int64_t pair = 2 * Kind::bytes;
  rotate_part<Kind>(to + whole * pair, from + whole * pair, s.part(whole, count - whole),
                    c.part(whole, count - whole), count - whole);
}

template <class Kind, bool past>
void rotate_halves(char* p, char* q, From<Kind> a, From<Kind> b, From<Kind> sin, From<Kind> cos,
                   int64_t count) {
  for (int64_t i = 0; i < count; i += Kind::elements) {
    if constexpr (past) a.ask(i), b.ask(i);
    const Pack<2 * Kind::vectors> pairs{a.template whole<1>(i), b.template whole<1>(i)},
        both = turned(pairs, sin.template whole<1>(i), cos.template whole<1>(i));
    Kind::template write<past>(p + i * Kind::bytes, both.low);
    Kind::template write<past>(q + i * Kind::bytes, both.high);
  }
}

// p or q may be a and b: a pack of both is read before either is written.
template <class Kind>
[[gnu::flatten]] void rotate(void* p, void* q, const void* a, const void* b, const void* sin,
                             const void* cos, int64_t count, bool far) {
  const From<Kind> first{a}, second{b}, s{sin}, c{cos};
  auto *const to = static_cast<char*>(p), *const other = static_cast<char*>(q);
  const uintptr_t places = reinterpret_cast<uintptr_t>(p) | reinterpret_cast<uintptr_t>(q);
  const int64_t whole = count - count % Kind::elements, rest = count - whole;
  if (far && places % (Kind::elements * Kind::bytes) == 0)
    rotate_halves<Kind, true>(to, other, first, second, s, c, whole);
  else
    rotate_halves<Kind, false>(to, other, first, second, s, c, whole);
  if (rest == 0) return;
  const Pack<2 * Kind::vectors> pairs{first.part(whole, rest), second.part(whole, rest)},
      both = turned(pairs, s.part(whole, rest), c.part(whole, rest));
  alignas(64) char buffer[2][sizeof(Floats)];
  Kind::template write<false>(buffer[0], both.low);
  Kind::template write<false>(buffer[1], both.high);
  std::memcpy(to + whole * Kind::bytes, buffer[0], static_cast<size_t>(rest * Kind::bytes));
  std::memcpy(other + whole * Kind::bytes, buffer[1], static_cast<size_t>(rest * Kind::bytes));
}

}  // namespace
}  // namespace infini::cpu
