// The one algorithm of all panel kernels, written over a vector of 16-byte lanes.
//
// Lanes are filled from different rows: lane l of vector r holds 16 bytes of row l * L + r, with
// L = 16 / word elements. Transposing L x L elements inside every lane (log2 L rounds of zips, no
// lane crossing) then leaves column c's elements of all rows in order in vector c.
//
// A Vector offers: lanes, type, gather(pointers), gather_partial(pointers, bytes per lane),
// zip_low/zip_high<word>, store, store_partial(bytes) and stream.
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

// A panel of whole lines and whole blocks runs in the first loop alone.
template <class V, int word, bool streamed>
void run_panel(const Panel& p) {
  constexpr int L = 16 / word, part_rows = V::lanes * L, full = 16 * V::lanes;
  typename V::type v[L];
  for (int64_t c = 0; c < p.columns; c += L) {
    const int columns = p.columns - c < L ? static_cast<int>(p.columns - c) : L;
    for (int part = 0; part * part_rows < p.rows; ++part) {
      const int left = (p.rows - part * part_rows) * word, bytes = left < full ? left : full;
      char* dst = p.dst + part * full;
      if (columns == L && bytes == full) {
        load_block<V, word>(v, p.src + c * word, p.src_of_row + part * part_rows, L);
        store_block<V, streamed>(v, dst, p.dst_of_column + c, L, full);
      } else {
        load_block<V, word>(v, p.src + c * word, p.src_of_row + part * part_rows, columns);
        store_block<V, streamed>(v, dst, p.dst_of_column + c, columns, bytes);
      }
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
