// How tiles in the cache are walked whose rows and columns lie equally far apart: without tables.
//
// Small tensors spend more time on pointers than on elements. Here 16 or more rows need four pointers,
// and what is left beside whole blocks is done by blocks that overlap their neighbours.
#pragma once

#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/panels/lanes.h"

namespace infini::cpu {

// One panel of a tile, from its first row on.
template <class V, int word>
inline void run_uniform_panel(char* const dst, const char* const src, const Tile& tile) {
  constexpr int L = 16 / word;
  // By value: the stores might change anything that is read through a reference.
  const int64_t row_step = tile.row_step, column_step = tile.column_step, columns = tile.columns;
  const char* part[4];
  for (int i = 0; i < 4; ++i) part[i] = src + i * L * row_step;
  char* to = dst;
  for (int64_t c = 0; c < columns; c += 2 * L) {
    if (c + 2 * L > columns) {
      const int64_t back = c + 2 * L - columns;
      for (const char*& from : part) from -= back * word;
      to -= back * column_step;
    }
    typename V::type v[2 * L];
    load_two_blocks<V, word>(v, [&](int r) { return part[r / L] + r % L * row_step; });
    for (int k = 0; k < 2 * L; ++k, to += column_step) V::store(to, v[k]);
    for (const char*& from : part) from += 2 * L * word;
  }
}

template <class V, int word>
void run_uniform(const Tile& tile) {
  constexpr int64_t unit = 64 / word;
  for (int64_t i = 0; i < tile.repeat; ++i)
    for (int64_t row = 0; row < tile.rows; row += unit) {
      const int64_t first = row + unit > tile.rows ? tile.rows - unit : row;
      run_uniform_panel<V, word>(tile.dst + i * tile.repeat_dst + first * word,
                                 tile.src + i * tile.repeat_src + first * tile.row_step, tile);
    }
}

}  // namespace infini::cpu
