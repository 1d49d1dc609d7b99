// Gemm kernels written once over the compilers' vector extensions, compiled once per instruction set.
// Include it only from a file gemm_<isa>.cpp, which is compiled with that set's flags and defines
// `struct Native` (vector bytes, tile shape, masks, f16 conversions) before it.
//
// Everything here has internal linkage and uses no inline function of the standard library: a copy
// that was compiled for a newer processor must never be the one the linker keeps for all.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/gemm/simd/skinny.h"
#include "backends/cpu/gemm/simd/sweep.h"
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

// ---- the tile: rows×(vectors·lanes) of C from a strip of A and a panel of B ----

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

// C = result(sum, what C was).
template <class T, int rows, int vectors, class Result>
[[gnu::always_inline]] inline void write_tile(const TileCall<T>& call,
                                              const Vec<T> (&sum)[rows][vectors], Mask last,
                                              int last_cols, const Result& result) {
  constexpr int lanes = Simd<T>::lanes;
  T* const c = call.c;  // copies: for all the compiler knows, a store may change the call
  const int64_t c_row = call.c_row;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    T* place = c + i * c_row;
#pragma GCC unroll 8
    for (int j = 0; j < vectors - 1; ++j, place += lanes)
      store(place, result(sum[i][j], [&] { return load(place); }));
    store_part(place, last, last_cols,
               result(sum[i][vectors - 1], [&] { return load_part(place, last, last_cols); }));
  }
}

// Every element is one chain of fused multiply-adds in the order of k, whatever the tile's size, so
// that a result does not depend on how C was cut.
template <class T, TileKind kind, bool whole, int rows, int vectors>
void tile(const TileCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes;
  constexpr bool packed = kind == TileKind::packed;
  const int64_t a_row = packed ? 1 : call.a_row, a_col = packed ? Native::tile_rows : call.a_col;
  const int last_cols = call.cols - (vectors - 1) * lanes;
  const Mask last = Native::first(last_cols);
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

// ---- packing ----

// Up to lanes columns, each contiguous along k, become rows of a panel; missing ones become zeros.
template <class S, class T>
void pack_columns(const char* src, int64_t col_step, int64_t count, int64_t k, T* dst,
                  int64_t dst_row) {
  constexpr int lanes = Simd<T>::lanes;
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
    Vec<T> v[lanes];
#pragma GCC unroll 16
    for (int j = 0; j < lanes; ++j)
      v[j] = j < count ? wide(reinterpret_cast<const S*>(src + j * col_step) + p) : Vec<T>{};
    transpose<T>(v);
#pragma GCC unroll 16
    for (int j = 0; j < lanes; ++j) store(dst + (p + j) * dst_row, v[j]);
  }
  const int rest = static_cast<int>(k - p);
  if (Native::masks && rest > 4) {
    Vec<T> v[lanes];
#pragma GCC unroll 16
    for (int j = 0; j < lanes; ++j)
      v[j] = j < count ? wide_part<T>(reinterpret_cast<const S*>(src + j * col_step) + p, rest)
                       : Vec<T>{};
    transpose<T>(v);
#pragma GCC unroll 16
    for (int j = 0; j < lanes; ++j)
      if (j < rest) store(dst + (p + j) * dst_row, v[j]);
    return;
  }
  for (; p < k; ++p)
    for (int j = 0; j < lanes; ++j)
      dst[p * dst_row + j] =
          j < count ? one(reinterpret_cast<const S*>(src + j * col_step) + p) : T{0};
}

template <class S, class T>
void pack_any(const PackCall<T>& call) {
  for (int64_t i = 0; i < call.rows; ++i)
    for (int64_t j = 0; j < call.cols; ++j)
      call.dst[i * call.dst_row + j] =
          one(reinterpret_cast<const S*>(call.src + i * call.row_step + j * call.col_step));
}

// rows×cols of any steps become rows of T, dst_row elements apart.
template <class S, class T>
void pack(const PackCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes;
  if (call.col_step == static_cast<int64_t>(sizeof(S)) || call.cols == 1) {
    const int64_t done = call.cols / lanes * lanes;
    for (int64_t i = 0; i < call.rows; ++i) {
      const S* src = reinterpret_cast<const S*>(call.src + i * call.row_step);
      T* dst = call.dst + i * call.dst_row;
      for (int64_t j = 0; j < done; j += lanes) store(dst + j, wide(src + j));
      if (done < call.cols)
        store(dst + done, wide_part<T>(src + done, static_cast<int>(call.cols - done)));
    }
    return;
  }
  if (call.row_step != static_cast<int64_t>(sizeof(S))) return pack_any<S, T>(call);
  // The last columns first: what they write behind a row is then overwritten by the row that follows.
  for (int64_t j = (call.cols - 1) / lanes * lanes; j >= 0; j -= lanes)
    pack_columns<S, T>(call.src + j * call.col_step, call.col_step,
                       call.cols - j < lanes ? call.cols - j : lanes, call.rows, call.dst + j,
                       call.dst_row);
}

// ---- finishing: sums become C ----

// C's columns are contiguous: squares of sums are transposed on the way.
template <class S, class T, class Result>
[[gnu::always_inline]] inline void finish_columns(const FinishCall<T>& call, const Result& result) {
  constexpr int lanes = Simd<T>::lanes;
  for (int64_t i = 0; i < call.rows; i += lanes)
    for (int64_t j = 0; j < call.cols; j += lanes) {
      const int rows = static_cast<int>(call.rows - i < lanes ? call.rows - i : lanes),
                cols = static_cast<int>(call.cols - j < lanes ? call.cols - j : lanes);
      Vec<T> v[lanes] = {};
#pragma GCC unroll 16
      for (int u = 0; u < lanes; ++u)
        if (u < rows) v[u] = wide_part<T>(call.sum + (i + u) * call.sum_row + j, cols);
      transpose<T>(v);
#pragma GCC unroll 16
      for (int u = 0; u < lanes; ++u) {
        if (u >= cols) break;
        S* const place = reinterpret_cast<S*>(call.c + (j + u) * call.col_step) + i;
        narrow_part<T>(place, rows, result(v[u], [&] { return wide_part<T>(place, rows); }));
      }
    }
}

template <class S, class T>
void finish(const FinishCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes;
  const bool unit = call.col_step == static_cast<int64_t>(sizeof(S));
  const Vec<T> alpha = splat(call.alpha), beta = splat(call.beta);
  const auto result = [&](Vec<T> total, auto old) {
    return call.beta == 0 ? alpha * total : blend<T>(alpha, total, beta, old());
  };
  if (!unit && call.row_step == static_cast<int64_t>(sizeof(S)) && call.rows > 1)
    return finish_columns<S, T>(call, result);
  for (int64_t i = 0; i < call.rows; ++i) {
    const T* sum = call.sum + i * call.sum_row;
    char* c = call.c + i * call.row_step;
    int64_t j = 0;
    for (; unit && j + lanes <= call.cols; j += lanes) {
      S* place = reinterpret_cast<S*>(c) + j;
      narrow(place, result(load(sum + j), [&] { return wide(place); }));
    }
    for (int count = 1; j < call.cols; j += count) {  // the rest at once, or one by one
      S* place = reinterpret_cast<S*>(c + j * call.col_step);
      if (unit) count = static_cast<int>(call.cols - j);
      narrow_part<T>(place, count, result(wide_part<T>(sum + j, count), [&] {
                       return wide_part<T>(place, count);
                     }));
    }
  }
}

// ---- the table ----

template <class T, TileKind kind, bool whole, int vectors, int... row>
constexpr void fill_tiles(GemmKernels<T>& table, std::integer_sequence<int, row...>) {
  ((table.tile[static_cast<int>(kind)][whole][vectors - 1][row] = tile < T, kind,
    whole || !Native::masks, row + 1, vectors >),
   ...);
}

template <class T, bool whole, int vectors, int rows>
constexpr void fill_tiles(GemmKernels<T>& table) {
  constexpr auto all = std::make_integer_sequence<int, rows>{};
  fill_tiles<T, TileKind::plain, whole, vectors>(table, all);
  fill_tiles<T, TileKind::fetching, whole, vectors>(table, all);
  fill_tiles<T, TileKind::first, whole, vectors>(table, all);
}

template <class T, int vectors>
constexpr void fill_tiles(GemmKernels<T>& table) {
  constexpr int tile_vectors = Native::tile_vectors;
  constexpr int rows = vectors > 4               ? slim_rows
                       : vectors > tile_vectors  ? Native::wide_rows
                       : vectors == tile_vectors ? Native::tile_rows
                                                 : Native::narrow_rows;
  fill_tiles<T, true, vectors, rows>(table);
  fill_tiles<T, false, vectors, rows>(table);
  if constexpr (vectors <= tile_vectors)
    fill_tiles<T, TileKind::packed, true, vectors>(
        table, std::make_integer_sequence<int, Native::tile_rows>{});
}

template <class T>
constexpr GemmKernels<T> make_kernels() {
  GemmKernels<T> table;
  table.bytes = sizeof(T);
  table.lanes = Simd<T>::lanes;
  table.tile_rows = Native::tile_rows;
  table.tile_vectors = Native::tile_vectors;
  table.masks = Native::masks;
  table.narrow_rows = Native::narrow_rows;
  table.wide_vectors = Native::wide_vectors;
  table.wide_rows = Native::wide_rows;
  table.dot_rows = Native::dot_rows;
  table.sweep_rows = Native::sweep_rows;
  fill_tiles<T, 1>(table);
  fill_tiles<T, 2>(table);
  if constexpr (Native::tile_vectors > 2) fill_tiles<T, 3>(table);
  if constexpr (Native::wide_vectors == 4) {
    fill_tiles<T, 4>(table);
    fill_tiles<T, 5>(table);
    fill_tiles<T, 6>(table);
    fill_tiles<T, 7>(table);
    fill_tiles<T, 8>(table);
  }
  table.pack[0] = pack<T, T>;
  table.finish[0] = finish<T, T>;
  fill_skinny<T, T>(table.skinny[0]);
  table.sweep[0] = sweep<T, T>;
  if constexpr (sizeof(T) == 4) {
    table.pack[1] = pack<F16, T>;
    table.pack[2] = pack<BF16, T>;
    table.finish[1] = finish<F16, T>;
    table.finish[2] = finish<BF16, T>;
    fill_skinny<T, F16>(table.skinny[1]);
    fill_skinny<T, BF16>(table.skinny[2]);
    table.sweep[1] = sweep<F16, T>;
    table.sweep[2] = sweep<BF16, T>;
  }
  return table;
}

}  // namespace
}  // namespace infini::cpu
