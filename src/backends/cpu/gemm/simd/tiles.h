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
#include "backends/cpu/gemm/simd/split.h"
#include "backends/cpu/gemm/simd/sweep.h"
#include "backends/cpu/gemm/simd/tile.h"
#include "backends/cpu/gemm/simd/vectors.h"

namespace infini::cpu {
namespace {

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

// Rows shorter than a vector, a few at a time: all are read before any is written, see write_tile.
template <class S, class T, class Result>
[[gnu::always_inline]] inline void finish_short_rows(const FinishCall<T>& call,
                                                     const Result& result) {
  constexpr int together = 4;
  const int cols = static_cast<int>(call.cols);
  for (int64_t i = 0; i < call.rows; i += together) {
    const int64_t rows = call.rows - i < together ? call.rows - i : together;
    Vec<T> v[together];
    for (int64_t u = 0; u < rows; ++u) {
      const S* const place = reinterpret_cast<const S*>(call.c + (i + u) * call.row_step);
      v[u] = result(wide_part<T>(call.sum + (i + u) * call.sum_row, cols),
                    [&] { return wide_part<T>(place, cols); });
    }
    for (int64_t u = 0; u < rows; ++u)
      narrow_part<T>(reinterpret_cast<S*>(call.c + (i + u) * call.row_step), cols, v[u]);
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
  if (unit && call.cols < lanes && call.beta != 0) return finish_short_rows<S, T>(call, result);
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
  table.wide_piece_rows = Native::wide_piece_rows;
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
  fill_all_splits<T>(table);
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
