// The elements that lane kernels read and write, as vectors of f32: included once per instruction set, after `Native`.
//
// A kind loads and stores packs: `vectors` vectors of f32 for `elements` elements. Which element is where in a pack is the kind's
// own affair: kernels that mix kinds take those whose packs are one vector in memory's order.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/cpu/machine/store_past.h"

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
// Past the caches: p is aligned to the vector.
template <bool past, class Vector>
void store(void* p, Vector v) {
  if constexpr (past)
    store_past(p, v);
  else
    __builtin_memcpy(p, &v, sizeof v);
}

inline Floats splat(float x) { return x - Floats{}; }
inline Words words(Floats v) { return reinterpret_cast<Words>(v); }
inline Floats floats(Words bits) { return reinterpret_cast<Floats>(bits); }

// Some vectors that are computed side by side, so that an instruction does not wait for the one before it. Halves and no array:
// g++ keeps arrays in memory.
template <int n>
struct Pack {
  Pack<n / 2> low, high;
};
template <>
struct Pack<1> {
  Floats v;
};

// body(vector of each pack), vector by vector.
template <class Body, int n, class... Packs>
[[gnu::always_inline]] inline Pack<n> apply_to(const Body& body, const Pack<n>& first,
                                               const Packs&... others) {
  if constexpr (n == 1)
    return {body(first.v, others.v...)};
  else
    return {apply_to(body, first.low, others.low...), apply_to(body, first.high, others.high...)};
}
// Vector number k.
template <int k, int n>
[[gnu::always_inline]] inline Floats vector_of(const Pack<n>& pack) {
  if constexpr (n == 1)
    return pack.v;
  else if constexpr (k < n / 2)
    return vector_of<k>(pack.low);
  else
    return vector_of<k - n / 2>(pack.high);
}
template <int n>
[[gnu::always_inline]] inline Pack<n> operator+(const Pack<n>& a, const Pack<n>& b) {
  return apply_to([](Floats x, Floats y) { return x + y; }, a, b);
}
template <int n>
[[gnu::always_inline]] inline Pack<n> operator-(const Pack<n>& a, const Pack<n>& b) {
  return apply_to([](Floats x, Floats y) { return x - y; }, a, b);
}
template <int n>
[[gnu::always_inline]] inline Pack<n> operator*(const Pack<n>& a, const Pack<n>& b) {
  return apply_to([](Floats x, Floats y) { return x * y; }, a, b);
}
template <int n>
[[gnu::always_inline]] inline Pack<n> operator+(const Pack<n>& a, float b) {
  return apply_to([=](Floats x) { return x + b; }, a);
}
template <int n>
[[gnu::always_inline]] inline Pack<n> operator-(const Pack<n>& a, float b) {
  return apply_to([=](Floats x) { return x - b; }, a);
}
template <int n>
[[gnu::always_inline]] inline Pack<n> operator*(const Pack<n>& a, float b) {
  return apply_to([=](Floats x) { return x * b; }, a);
}

struct F32 {
  static constexpr int64_t bytes = 4, elements = lanes;
  static constexpr int vectors = 1;
  static constexpr uint32_t least = 0xff800000;  // minus infinity
  static Pack<1> read(const char* p) { return {load<Floats>(p)}; }
  template <bool past>
  static void write(char* p, Pack<1> pack) {
    store<past>(p, pack.v);
  }
};

struct F16 {
  static constexpr int64_t bytes = 2, elements = lanes;
  static constexpr int vectors = 1;
  static constexpr uint16_t least = 0xfc00;
  static Floats widen(Half v) { return reinterpret_cast<Floats>(Native::f32_from_f16(v)); }
  static Half narrow(Floats v) { return reinterpret_cast<Half>(Native::f16_from_f32(v)); }
  static Pack<1> read(const char* p) { return {widen(load<Half>(p))}; }
  template <bool past>
  static void write(char* p, Pack<1> pack) {
    store<past>(p, narrow(pack.v));
  }
};

// In memory's order; any NaN stays one.
struct BF16 {
  static constexpr int64_t bytes = 2, elements = lanes;
  static constexpr int vectors = 1;
  static constexpr uint16_t least = 0xff80;
  // To nearest even, in the upper halves. Of a NaN with 16 mantissa bits below that are all ones nothing is left but a sign:
  // results of arithmetic on bf16 are no such NaN.
  static Words rounded(Floats v) { return words(v) + 0x7fffu + ((words(v) >> 16) & 1u); }
  static Floats widen(Half v) {
    return floats(reinterpret_cast<Words>(Native::words_from_halves(v)) << 16);
  }
  static Half narrow(Floats v) {
    const Words result = v == v ? rounded(v) : (words(v) | 0x400000u);
    return reinterpret_cast<Half>(Native::halves_from_words(result >> 16));
  }
  static Pack<1> read(const char* p) { return {widen(load<Half>(p))}; }
  template <bool past>
  static void write(char* p, Pack<1> pack) {
    store<past>(p, narrow(pack.v));
  }
};

// Elements of even and of odd numbers apart: half a word each, so that nothing is shuffled. Only for what is computed of bf16 alone.
struct BF16Pairs {
  static constexpr int64_t bytes = 2, elements = 2 * lanes;
  static constexpr int vectors = 2;
  static constexpr uint16_t least = BF16::least;
  static constexpr uint32_t upper = 0xffff0000u;
  static Pack<2> read(const char* p) {
    const Words both = load<Words>(p);
    return {{floats(both << 16)}, {floats(both & upper)}};
  }
  template <bool past>
  static void write(char* p, Pack<2> pack) {
    const Words even = BF16::rounded(pack.low.v), odd = BF16::rounded(pack.high.v);
    store<past>(p, (even >> 16) | (odd & upper));
  }
};
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

// The kind by which kernels of one kind alone compute.
template <class Kind>
struct Alone {
  using type = Kind;
};
template <>
struct Alone<BF16> {
  using type = BF16Pairs;
};

// As many packs of a kind as are one: read and written one by one.
template <class Kind, int n>
[[gnu::always_inline]] inline Pack<n> read_packs(const char* p) {
  if constexpr (n == Kind::vectors) {
    return Kind::read(p);
  } else {
    constexpr int64_t half = n / 2 / Kind::vectors * Kind::elements * Kind::bytes;
    return {read_packs<Kind, n / 2>(p), read_packs<Kind, n / 2>(p + half)};
  }
}
template <class Kind, bool past, int n>
[[gnu::always_inline]] inline void write_packs(char* p, const Pack<n>& pack) {
  if constexpr (n == Kind::vectors) {
    Kind::template write<past>(p, pack);
  } else {
    constexpr int64_t half = n / 2 / Kind::vectors * Kind::elements * Kind::bytes;
    write_packs<Kind, past>(p, pack.low);
    write_packs<Kind, past>(p + half, pack.high);
  }
}

// What is read is asked for so many bytes ahead.
constexpr int64_t ahead_bytes = 2048;

// An array of elements of a kind, read a pack at a time.
template <class Kind>
struct From {
  const void* array;
  const char* at(int64_t i) const { return static_cast<const char*>(array) + i * Kind::bytes; }
  // `packs` of them as one.
  template <int packs>
  auto whole(int64_t i) const {
    return read_packs<Kind, packs * Kind::vectors>(at(i));
  }
  // `count` elements, and behind them what the kind has as its least, or zeros.
  auto part(int64_t i, int64_t count, bool least = false) const {
    alignas(64) char buffer[Kind::elements * Kind::bytes] = {};
    if (least)
      for (int64_t k = 0; k < Kind::elements; ++k)
        std::memcpy(buffer + k * Kind::bytes, &Kind::least, Kind::bytes);
    std::memcpy(buffer, at(i), static_cast<size_t>(count * Kind::bytes));
    return Kind::read(buffer);
  }
  void ask(int64_t i) const { __builtin_prefetch(at(i) + ahead_bytes, 0, 3); }
};

}  // namespace
}  // namespace infini::cpu
