// Tiles of few sums, which are several chains each: one sum after the other would wait for the one before it. Included by
// tiles.h alone, and so compiled once per instruction set.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/gemm/simd/tile.h"
#include "backends/cpu/gemm/simd/vectors.h"

namespace infini::cpu {
namespace {

// The upper half of the chains is added to the lower one, and so on.
template <class T, int half, int chains, int rows, int vectors>
[[gnu::always_inline]] inline void add_chains(Vec<T> (&sum)[chains][rows][vectors]) {
#pragma GCC unroll 4
  for (int u = 0; u < half; ++u)
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) sum[u][i][j] += sum[u + half][i][j];
  if constexpr (half > 1) add_chains<T, half / 2>(sum);
}

// Each chain has every so manieth k; what is left over of k is the first one's.
template <class T, bool fetches, bool whole, int rows, int vectors>
void split_tile(const TileCall<T>& call) {
  constexpr int chains = split_chains(rows * vectors);
  constexpr auto all = std::make_integer_sequence<int, vectors>{};
  const Mask last = Native::first(call.cols - (vectors - 1) * Simd<T>::lanes);
  Vec<T> sum[chains][rows][vectors] = {};
  const T *a = call.a, *b = call.b;
  const int64_t a_row = call.a_row, a_col = call.a_col, b_row = call.b_row;
  const auto advance = [&](auto& one) __attribute__((always_inline)) {
    const T* places[(rows + 2) / 3];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i += 3) places[i / 3] = a + i * a_row;
    Vec<T> right[vectors];
    load_row<T, rows, whole>(b, last, right, all);
    if constexpr (fetches) fetch_rows<T, vectors>(b + 8 * b_row);
    add_products<T, rows, vectors>(one, places, a_row, right);
    a += a_col;
    b += b_row;
  };
  int64_t left = call.k;
  for (; left >= chains; left -= chains)
#pragma GCC unroll 8
    for (int u = 0; u < chains; ++u) advance(sum[u]);
  for (; left > 0; --left) advance(sum[0]);
  add_chains<T, chains / 2>(sum);
  end_tile<T, rows, vectors>(call, sum[0]);
}

template <class T, bool fetches, bool whole, int vectors, int... row>
constexpr void fill_split(GemmKernels<T>& table, std::integer_sequence<int, row...>) {
  ((table.split[fetches][whole][vectors - 1][row] = split_tile < T, fetches,
    whole || !Native::masks, row + 1, vectors >),
   ...);
}

template <class T, int vectors>
constexpr void fill_split(GemmKernels<T>& table) {
  constexpr auto rows = std::make_integer_sequence<int, most_split_sums / vectors>{};
  fill_split<T, false, false, vectors>(table, rows);
  fill_split<T, false, true, vectors>(table, rows);
  fill_split<T, true, false, vectors>(table, rows);
  fill_split<T, true, true, vectors>(table, rows);
}

template <class T>
constexpr void fill_all_splits(GemmKernels<T>& table) {
  fill_split<T, 1>(table);
  fill_split<T, 2>(table);
  if constexpr (Native::tile_vectors > 2) fill_split<T, 3>(table);
  if constexpr (Native::wide_vectors == 4) {
    fill_split<T, 4>(table);
    fill_split<T, 5>(table);
    fill_split<T, 6>(table);
  }
}

}  // namespace
}  // namespace infini::cpu
