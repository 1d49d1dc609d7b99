// The tile: rows×(vectors·lanes) of C from a strip of A and a panel of B, whose sums are registers. Included by tiles.h alone,
// and so compiled once per instruction set.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/gemm/simd/vectors.h"

namespace infini::cpu {
namespace {

// alpha·total + beta·old, with beta·old rounded first and the rest fused wherever this is compiled: which
// product a compiler fuses, or shares with the branch for beta = 0, would otherwise differ from place to
// place, and with it the last bit.
template <class T>
Vec<T> blend(Vec<T> alpha, Vec<T> total, Vec<T> beta, Vec<T> old) {
  Vec<T> kept = beta * old;
  Native::keep(kept);
  Native::keep(total);
  return alpha * total + kept;
}

// Every second row of C from `first` on: it is needed only at the end of a tile.
template <class T, int rows, int vectors>
[[gnu::always_inline]] inline void fetch_half(const TileCall<T>& call, int64_t first) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; i += 2)
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j)
      __builtin_prefetch(call.c + (i + first) * call.c_row + j * Simd<T>::lanes, 1);
}

// What a tile of packed operands reads next. (In f64 a strip of A is too long for the first cache: 12 %.)
template <class T, int vectors>
[[gnu::always_inline]] inline void fetch_packed(const T* b, const T* a) {
#pragma GCC unroll 8
  for (int j = 0; j < vectors; ++j) __builtin_prefetch(b + j * Simd<T>::lanes);
  __builtin_prefetch(a);
}

// Rows of B that no tile has read before: each is in another page, which the processor's own fetching does not cross.
template <class T, int vectors>
[[gnu::always_inline]] inline void fetch_rows(const T* b) {
#pragma GCC unroll 8
  for (int j = 0; j < vectors; ++j) __builtin_prefetch(b + j * Simd<T>::lanes);
}

// A row of the panel. (A masked load is a multiply-add's place, too: 4–5 %.) Two or three rows of A must be told to load
// it once; with more compilers do that by themselves. (No loop: with asm in it, it would be unrolled too late for the sums
// to be registers.)
template <class T, int rows, bool whole, int... j>
[[gnu::always_inline]] inline void load_row(const T* b, Mask last, Vec<T> (&right)[sizeof...(j)],
                                            std::integer_sequence<int, j...>) {
  constexpr int lanes = Simd<T>::lanes, end = sizeof...(j) - 1;
  ((right[j] = whole || j < end ? load(b + j * lanes) : load_first(b + j * lanes, last)), ...);
  if constexpr (rows == 2 || rows == 3) ((right[j] = Native::held(right[j])), ...);
}

// One k: a[] are places in every third row of A, the others are one or two steps away.
template <class T, int rows, int vectors>
[[gnu::always_inline]] inline void add_products(Vec<T> (&sum)[rows][vectors], const T* const* a,
                                                int64_t a_row, const Vec<T> (&right)[vectors]) {
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    const Vec<T> left = splat(a[i / 3][i % 3 * a_row]);
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j) sum[i][j] += left * right[j];
  }
}

// C = result(sum, what C was). All of it is read before any of it is written: short rows follow one another closely, and
// a read that touches the line of a masked store waits for it.
template <class T, int rows, int vectors, class Result>
[[gnu::always_inline]] inline void write_tile(const TileCall<T>& call, Vec<T> (&sum)[rows][vectors],
                                              Mask last, int last_cols, const Result& result) {
  constexpr int lanes = Simd<T>::lanes;
  T* const c = call.c;  // copies: for all the compiler knows, a store may change the call
  const int64_t c_row = call.c_row;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    T* place = c + i * c_row;
#pragma GCC unroll 8
    for (int j = 0; j < vectors - 1; ++j, place += lanes)
      sum[i][j] = result(sum[i][j], [&] { return load(place); });
    sum[i][vectors - 1] =
        result(sum[i][vectors - 1], [&] { return load_part(place, last, last_cols); });
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    T* place = c + i * c_row;
#pragma GCC unroll 8
    for (int j = 0; j < vectors - 1; ++j, place += lanes) store(place, sum[i][j]);
    store_part(place, last, last_cols, sum[i][vectors - 1]);
  }
}

// C = alpha·sum + beta·C.
template <class T, int rows, int vectors>
[[gnu::always_inline]] inline void end_tile(const TileCall<T>& call, Vec<T> (&sum)[rows][vectors]) {
  const int last_cols = call.cols - (vectors - 1) * Simd<T>::lanes;
  const Mask last = Native::first(last_cols);
  const Vec<T> alpha = splat(call.alpha), beta = splat(call.beta);
  const auto scaled = [alpha](Vec<T> total, auto) { return alpha * total; };
  const auto blended = [alpha, beta](Vec<T> total, auto old) {
    return blend<T>(alpha, total, beta, old());
  };
  if (call.beta == 0)
    write_tile<T, rows, vectors>(call, sum, last, last_cols, scaled);
  else
    write_tile<T, rows, vectors>(call, sum, last, last_cols, blended);
}

// Every element is one chain of fused multiply-adds in the order of k, whatever the tile's size, so
// that a result does not depend on how C was cut.
template <class T, TileKind kind, bool whole, int rows, int vectors>
void tile(const TileCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes;
  constexpr bool packed = kind == TileKind::packed;
  const int64_t a_row = packed ? 1 : call.a_row, a_col = packed ? Native::tile_rows : call.a_col;
  const Mask last = Native::first(call.cols - (vectors - 1) * lanes);
  Vec<T> sum[rows][vectors] = {};
  const T* b = call.b;
  const T* a[(rows + 2) / 3];
#pragma GCC unroll 8
  for (int i = 0; i < rows; i += 3) a[i / 3] = call.a + i * a_row;
  [[maybe_unused]] const char* ahead = call.ahead;
  // Called from two places: a compiler that does not inline it keeps the sums in memory.
  const auto advance = [&](int64_t steps) __attribute__((always_inline)) {
    for (int64_t p = 0; p < steps; ++p) {
      Vec<T> right[vectors];
      load_row<T, rows, whole>(b, last, right, std::make_integer_sequence<int, vectors>{});
      if constexpr (packed) fetch_packed<T, vectors>(b + 4 * call.b_row, a[0] + 16 * a_col);
      if constexpr (kind == TileKind::first)
        fetch_rows<T, vectors>(b + (rows <= slim_rows ? 4 : 8) * call.b_row);
      else if constexpr (kind != TileKind::plain)
        __builtin_prefetch(ahead, 0, 2), ahead += call.ahead_step;
      add_products<T, rows, vectors>(sum, a, a_row, right);
#pragma GCC unroll 8
      for (int i = 0; i < rows; i += 3) a[i / 3] += a_col;
      b += call.b_row;
    }
  };
  // Half of C's rows at a time: more would keep A and B waiting.
  const int64_t quarter = call.k < 96 ? 0 : call.k / 4;
  for (int64_t part = 0; quarter > 0 && part < 2; ++part) {
    fetch_half<T, rows, vectors>(call, part);
    advance(quarter);
  }
  advance(call.k - 2 * quarter);
  end_tile<T, rows, vectors>(call, sum);
}

}  // namespace
}  // namespace infini::cpu
