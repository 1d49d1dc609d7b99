// The one algorithm of all panel kernels, written over a vector of 16-byte lanes.
//
// Lanes are filled from different rows: lane l of vector r holds 16 bytes of row l * L + r, with
// L = 16 / word elements. Transposing L x L elements inside every lane (log2 L rounds of zips, no
// lane crossing) then leaves column c's elements of all rows in order in vector c.
//
// A Vector offers: lanes, type, gather(pointers), gather_partial(pointers, bytes per lane),
// zip_low/zip_high<word>, store, store_partial(bytes) and stream; with four lanes also
// gather_pair(two pointers to 32 bytes), even_lanes and odd_lanes (two of the first, two of the second).
//
// The files that include this are compiled for their instruction set: everything here depends on
// their own Vector type, so that nothing compiled for one set can be linked into another.
#pragma once

#include "backends/cpu/tile_kernels.h"

namespace infini::cpu {

// A perfect-shuffle network: log2 L rounds of zips transpose every lane.
template <class V, int word>
inline void transpose_lanes(typename V::type* v) {
  constexpr int L = 16 / word;
  for (int round = 1; round < L; round *= 2) {
    typename V::type w[L];
    for (int i = 0; i < L / 2; ++i) {
      w[2 * i] = V::template zip_low<word>(v[i], v[i + L / 2]);
      w[2 * i + 1] = V::template zip_high<word>(v[i], v[i + L / 2]);
    }
    for (int i = 0; i < L; ++i) v[i] = w[i];
  }
}

// Loads and transposes one block: lanes * L rows (their offsets in `row`) by `columns` <= L columns.
template <class V, int word>
inline void load_block(typename V::type* v, const char* src, const int64_t* row, int columns) {
  constexpr int L = 16 / word;
  for (int r = 0; r < L; ++r) {
    const char* p[V::lanes];
    for (int l = 0; l < V::lanes; ++l) p[l] = src + row[l * L + r];
    v[r] = columns == L ? V::gather(p) : V::gather_partial(p, columns * word);
  }
  if constexpr (L > 1) transpose_lanes<V, word>(v);
}

// The same of whole blocks, from pointers to the rows.
template <class V, int word>
inline void load_whole_block(typename V::type* v, const char* const* rows, int64_t at) {
  constexpr int L = 16 / word;
  for (int r = 0; r < L; ++r) {
    const char* p[V::lanes];
    for (int l = 0; l < V::lanes; ++l) p[l] = rows[l * L + r] + at;
    v[r] = V::gather(p);
  }
  if constexpr (L > 1) transpose_lanes<V, word>(v);
}

// Two blocks side by side from loads of 32 bytes, half as many: a vector r of `low` holds rows r and
// r + L, one of `high` rows r + 2 L and r + 3 L. After the transposes their even lanes are the
// columns of the first block, the odd lanes those of the second.
template <class V, int word>
inline void load_two_blocks(typename V::type* v, const char* const* rows, int64_t at) {
  constexpr int L = 16 / word;
  typename V::type low[L], high[L];
  for (int r = 0; r < L; ++r) low[r] = V::gather_pair(rows[r] + at, rows[r + L] + at);
  if constexpr (L > 1) transpose_lanes<V, word>(low);
  for (int r = 0; r < L; ++r) high[r] = V::gather_pair(rows[r + 2 * L] + at, rows[r + 3 * L] + at);
  if constexpr (L > 1) transpose_lanes<V, word>(high);
  for (int c = 0; c < L; ++c) {
    v[c] = V::even_lanes(low[c], high[c]);
    v[c + L] = V::odd_lanes(low[c], high[c]);
  }
}

template <class V, bool streamed>
inline void store_block(const typename V::type* v, char* dst, const int64_t* column, int columns,
                        int bytes) {
  constexpr int full = 16 * V::lanes;
  for (int c = 0; c < columns; ++c) {
    if (bytes < full) V::store_partial(dst + column[c], v[c], bytes);
    else if (streamed) V::stream(dst + column[c], v[c]);
    else V::store(dst + column[c], v[c]);
  }
}

// Prefetches the next panel's share of the block at column byte `at`: four blocks in a row touch the
// same lines, so each asks for a quarter of the rows.
template <int word>
inline void prefetch_rows(const char* src, const int64_t* next, int64_t at) {
  constexpr int L = 16 / word;
  const int64_t* row = next + at / 16 % 4 * L;
  for (int r = 0; r < L; ++r) __builtin_prefetch(src + row[r] + at, 0, 2);
}

// Whole lines and whole blocks: the loop that has to be fast.
template <class V, int word, bool streamed>
inline void run_whole_blocks(char* dst, const int64_t* column, int64_t columns, const char* src,
                             const int64_t* row, const int64_t* next) {
  constexpr int L = 16 / word;
  const char* rows[V::lanes * L];
  for (int r = 0; r < V::lanes * L; ++r) rows[r] = src + row[r];
  int64_t c = 0;
  if constexpr (V::lanes == 4 && word > 1) {  // for bytes there are not registers enough
    for (; c + 2 * L <= columns; c += 2 * L) {
      typename V::type v[2 * L];
      if (next != nullptr) {
        prefetch_rows<word>(src, next, c * word);
        prefetch_rows<word>(src, next, c * word + 16);
      }
      load_two_blocks<V, word>(v, rows, c * word);
      store_block<V, streamed>(v, dst, column + c, 2 * L, 16 * V::lanes);
    }
  }
  for (; c < columns; c += L) {
    typename V::type v[L];
    if (next != nullptr) prefetch_rows<word>(src, next, c * word);
    load_whole_block<V, word>(v, rows, c * word);
    store_block<V, streamed>(v, dst, column + c, L, 16 * V::lanes);
  }
}

template <class V, int word, bool streamed>
void run_panel(const Panel& p) {
  constexpr int L = 16 / word, part_rows = V::lanes * L, full = 16 * V::lanes;
  for (int part = 0; part * part_rows < p.rows; ++part) {
    const int left = (p.rows - part * part_rows) * word, bytes = left < full ? left : full;
    char* dst = p.dst + part * full;
    const int64_t* row = p.src_of_row + part * part_rows;
    int64_t c = 0;
    if (bytes == full) {
      c = p.columns / L * L;
      run_whole_blocks<V, word, streamed>(dst, p.dst_of_column, c, p.src, row,
                                          part == 0 ? p.next_of_row : nullptr);
    }
    for (typename V::type v[L]; c < p.columns; c += L) {
      const int columns = p.columns - c < L ? static_cast<int>(p.columns - c) : L;
      load_block<V, word>(v, p.src + c * word, row, columns);
      store_block<V, streamed>(v, dst, p.dst_of_column + c, columns, bytes);
    }
  }
}

template <class V, int word>
PanelKernels panel_kernels_of() {
  return {run_panel<V, word, false>, run_panel<V, word, true>, nullptr};
}

template <class V>
PanelKernels panel_kernels_for(int word) {
  switch (word) {
    case 1: return panel_kernels_of<V, 1>();
    case 2: return panel_kernels_of<V, 2>();
    case 4: return panel_kernels_of<V, 4>();
    case 8: return panel_kernels_of<V, 8>();
    default: return panel_kernels_of<V, 16>();
  }
}

}  // namespace infini::cpu
