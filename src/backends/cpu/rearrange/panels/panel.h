// The one algorithm of all panel kernels, written over a vector of 16-byte lanes.
//
// Lanes are filled from different rows: lane l of vector r holds 16 bytes of row l * L + r, with
// L = 16 / word elements. Transposing L x L elements inside every lane (log2 L rounds of zips, no
// lane crossing) then leaves column c's elements of all rows in order in vector c.
//
// A Vector offers: lanes, type, gather(pointers), gather_partial(pointers, bytes per lane),
// zip_low/zip_high<word>, store, store_partial(bytes) and stream; with four lanes also load,
// gather_pair(two pointers to 32 bytes), even_lanes and odd_lanes (two of the first, two of the second).
//
// The files that include this are compiled for their instruction set: everything here depends on
// their own Vector type, so that nothing compiled for one set can be linked into another.
#pragma once

#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/panels/lanes.h"
#include "backends/cpu/rearrange/panels/stage.h"
#include "backends/cpu/rearrange/panels/uniform.h"

namespace infini::cpu {

// Pointers to the rows of one part of a panel, lanes * L of them.
template <class V, int word>
struct Rows {
  static constexpr int count = V::lanes * (16 / word);
  Rows(const Panel& p, int part) {
    if (p.src_of_row == nullptr && p.rows >= (part + 1) * count)
      for (int r = 0; r < count; ++r) at[r] = p.src + (part * count + r) * p.row_step;
    else
      for (int r = 0; r < count; ++r) at[r] = p.src + p.row(part * count + r);
  }
  const char* at[count];
};

// Loads and transposes one block: all rows by `columns` <= L columns from byte `at` on.
template <class V, int word>
inline void load_block(typename V::type* v, const char* const* rows, int64_t at, int columns) {
  constexpr int L = 16 / word;
  for (int r = 0; r < L; ++r) {
    const char* p[V::lanes];
    for (int l = 0; l < V::lanes; ++l) p[l] = rows[l * L + r] + at;
    v[r] = columns == L ? V::gather(p) : V::gather_partial(p, columns * word);
  }
  if constexpr (L > 1) transpose_lanes<V, word>(v);
}

// The same of whole blocks.
template <class V, int word>
[[gnu::always_inline]] inline void load_whole_block(typename V::type* v, const char* const* rows,
                                                    int64_t at) {
  constexpr int L = 16 / word;
  for (int r = 0; r < L; ++r) {
    const char* p[V::lanes];
    for (int l = 0; l < V::lanes; ++l) p[l] = rows[l * L + r] + at;
    v[r] = V::gather(p);
  }
  if constexpr (L > 1) transpose_lanes<V, word>(v);
}

template <class V, bool streamed>
inline void store_block(const typename V::type* v, char* dst, const int64_t* column, int columns,
                        int bytes) {
  constexpr int full = 16 * V::lanes;
  for (int c = 0; c < columns; ++c) {
    if (bytes < full)
      V::store_partial(dst + column[c], v[c], bytes);
    else if (streamed)
      V::stream(dst + column[c], v[c]);
    else
      V::store(dst + column[c], v[c]);
  }
}

// Fetches a quarter of the next panel's rows at column byte `at`, the quarters in turn: four blocks in a
// row touch the same lines. (Always inlined: g++ removes calls of what only prefetches.)
template <int word>
[[gnu::always_inline]] inline void fetch_rows(const char* src, const int64_t* next, int64_t at) {
  constexpr int L = 16 / word;
  const int64_t* row = next + at / 16 % 4 * L;
  for (int r = 0; r < L; ++r) __builtin_prefetch(src + row[r] + at, 0, 2);
}

// What is fetched while a panel is walked: all of the next one, each block its share, where strips are short or the
// machine likes it. Else strips are followed by the hardware, but late: so the last lines of a panel ask for the first
// ones of the next, half as many. (Asked for sooner, they push aside what the hardware follows.)
template <class V, int word>
class Fetch {
 public:
  Fetch(const Panel& p, int part)
      : src_(p.src),
        next_(part == 0 ? p.next_of_row : nullptr),
        filling_(part == 0 ? p.filling : nullptr) {
    const int64_t bytes = p.columns * word;
    if (!p.fetches_all && bytes > last_bytes) begin_ = bytes - last_bytes;
  }
  // Before the block at column byte `at`, which is a multiple of 16.
  [[gnu::always_inline]] void block(int64_t at) {
    if (next_ == nullptr) return fill();
    if (begin_ == 0)
      fetch_rows<word>(src_, next_, at);
    else if (at >= begin_ && at % 32 == 0)
      fetch_rows<word>(src_, next_, (at - begin_) / 32 * 16);
  }

 private:
  [[gnu::always_inline]] void fill() {
    if (filling_ == nullptr || ++filling_->blocks < filling_->every || filling_->left == 0) return;
    filling_->blocks = 0;
    filling_->fill(*filling_, filling_->each < filling_->left ? filling_->each : filling_->left);
  }

  static constexpr int64_t last_bytes = 1024;
  const char* src_;
  const int64_t* next_;
  Filling* filling_;
  int64_t begin_ = 0;
};

constexpr auto nothing = [](int) {};  // between the columns that are written, see stage.h

// Calls emit(first column, vectors of L columns, between) for whole blocks of columns, read straight from
// the rows. Returns the columns that were done.
template <class V, int word, bool in_pairs, class Emit>
inline int64_t walk_blocks(const Panel& p, const char* const* rows, int part, Emit emit,
                           int64_t from = 0) {
  constexpr int L = 16 / word;
  const int64_t columns = p.columns;
  Fetch<V, word> fetch(p, part);
  int64_t c = from;
  if constexpr (in_pairs) {
    for (; c + 2 * L <= columns; c += 2 * L) {
      typename V::type v[2 * L];
      fetch.block(c * word);
      fetch.block(c * word + 16);
      load_two_blocks<V, word>(v, [&](int r) { return rows[r] + c * word; });
      emit(c, v, nothing);
      emit(c + L, v + L, nothing);
    }
  }
  for (; c + L <= columns; c += L) {
    typename V::type v[L];
    fetch.block(c * word);
    load_whole_block<V, word>(v, rows, c * word);
    emit(c, v, nothing);
  }
  return c;
}

// Whichever of the two is the faster one past the cache.
template <class V, int word, bool in_pairs, class Emit>
inline int64_t walk_streamed(const Panel& p, Emit emit) {
  if constexpr (word < 4)
    if (p.staged && p.columns * word >= least_tile_width) return walk_tiles<V, word, 1>(p, emit);
  return walk_blocks<V, word, in_pairs>(p, Rows<V, word>(p, 0).at, 0, emit);
}

// Stores whole vectors. By value: the stores might change anything that is read through a reference.
template <class V, int word, bool streamed>
inline auto lines_of(char* dst, const int64_t* column) {
  return [dst, column](int64_t c, const typename V::type* v, auto between) {
    for (int k = 0; k < 16 / word; ++k) {
      between(k);
      if (streamed)
        V::stream(dst + column[c + k], v[k]);
      else
        V::store(dst + column[c + k], v[k]);
    }
  };
}

// Streams the upper line of each column and the lower one, whose vectors follow all upper ones.
template <class V, int word>
inline auto pairs_of(char* dst, const int64_t* column) {
  return [dst, column](int64_t c, const typename V::type* v, auto between) {
    for (int k = 0; k < 16 / word; ++k) {
      char* const to = dst + column[c + k];
      between(2 * k);
      V::stream(to, v[k]);
      between(2 * k + 1);
      V::stream(to + line_bytes, v[16 / word + k]);
    }
  };
}

template <class V, int word>
inline auto lines_apart(char* dst, int64_t step) {
  return [dst, step](int64_t c, const typename V::type* v, auto) {
    char* to = dst + c * step;
    for (int k = 0; k < 16 / word; ++k, to += step) V::store(to, v[k]);
  };
}

// What is left of a panel: columns from c on.
template <class V, int word, bool streamed>
inline void run_edge(const Panel& p, const char* const* rows, int part, int64_t c, int bytes) {
  constexpr int L = 16 / word, full = 16 * V::lanes;
  for (typename V::type v[L]; c < p.columns; c += L) {
    const int columns = p.columns - c < L ? static_cast<int>(p.columns - c) : L;
    int64_t column[L];
    for (int k = 0; k < columns; ++k) column[k] = p.column(c + k);
    load_block<V, word>(v, rows, c * word, columns);
    store_block<V, streamed>(v, p.dst + part * full, column, columns, bytes);
  }
}

// All columns of a part that has all its rows: what is left beside whole blocks is done by a last block
// that overlaps its neighbour. Returns the columns done, all of them unless they are fewer than a block.
template <class V, int word, class Emit>
inline int64_t walk_overlapping(const Panel& p, const char* const* rows, int part, Emit emit,
                                int64_t from = 0) {
  constexpr int L = 16 / word;
  const int64_t c = walk_blocks<V, word, V::lanes == 4>(p, rows, part, emit, from);
  if (c == p.columns || p.columns < L) return c;
  typename V::type v[L];
  load_whole_block<V, word>(v, rows, (p.columns - L) * word);
  emit(p.columns - L, v, nothing);
  return p.columns;
}

// Blocks in a cache that is far: lines of the rows are asked for before they are read, and those of the columns, to be
// written, before they are. Returns the columns that were done; the last ones have nothing to ask for.
template <class V, int word, class Emit>
inline int64_t walk_asking(const Panel& p, const char* const* rows, Emit emit) {
  constexpr int L = 16 / word, half = V::lanes * L / 2;
  constexpr int64_t ahead_columns = 16, ahead_bytes = 2 * 64;
  const int64_t columns = p.columns;
  char* const dst = p.dst;
  const int64_t* const column = p.dst_of_column + ahead_columns;
  int64_t c = 0;
  for (; c + 2 * L + ahead_columns <= columns; c += 2 * L) {
    const int64_t at = c * word;  // multiples of half a line: half of the rows' lines each
    const char* const* const asked = rows + (at % 64 == 0 ? 0 : half);
    for (int r = 0; r < half; ++r) __builtin_prefetch(asked[r] + at + ahead_bytes);
    typename V::type v[2 * L];
    load_two_blocks<V, word>(v, [&](int r) { return rows[r] + at; });
    emit(c, v, [&](int k) { __builtin_prefetch(dst + column[c + k], 1); });
    emit(c + L, v + L, [&](int k) { __builtin_prefetch(dst + column[c + L + k], 1); });
  }
  return c;
}

// Vectors of fewer lanes than a line has take a panel in parts.
template <class V, int word>
void run_cached(const Panel& p) {
  constexpr int part_rows = Rows<V, word>::count, full = 16 * V::lanes;
  for (int part = 0; part * part_rows < p.rows; ++part) {
    const int left = (p.rows - part * part_rows) * word, bytes = left < full ? left : full;
    const Rows<V, word> rows(p, part);
    char* const dst = p.dst + part * full;
    int64_t c = 0;
    if (bytes == full && p.dst_of_column == nullptr)
      c = walk_overlapping<V, word>(p, rows.at, part, lines_apart<V, word>(dst, p.column_step));
    else if (bytes == full) {
      const auto emit = lines_of<V, word, false>(dst, p.dst_of_column);
      if constexpr (V::lanes == 4)
        if (p.asks) c = walk_asking<V, word>(p, rows.at, emit);
      c = walk_overlapping<V, word>(p, rows.at, part, emit, c);
    }
    run_edge<V, word, false>(p, rows.at, part, c, bytes);
  }
}

template <class V, int word>
void run_streamed(const Panel& p) {
  static_assert(V::lanes == 4);
  int64_t c = 0;
  if (p.rows * word == 64)
    c = walk_streamed<V, word, true>(p, lines_of<V, word, true>(p.dst, p.dst_of_column));
  run_edge<V, word, true>(p, Rows<V, word>(p, 0).at, 0, c, p.rows * word);
}

// Pairs of lines; a panel that has not all its rows is one of single lines and what is left.
template <class V, int word>
void run_paired(const Panel& p) {
  constexpr int unit = 64 / word;
  int64_t c = 0;
  if (p.rows == 2 * unit) c = walk_tiles<V, word, 2>(p, pairs_of<V, word>(p.dst, p.dst_of_column));
  Panel upper = p;
  upper.rows = p.rows < unit ? p.rows : unit;
  upper.next_of_row = upper.after_of_row = nullptr;
  if (c == 0) {
    p.stage->ready = false;
    run_streamed<V, word>(upper);
  } else {
    run_edge<V, word, true>(p, Rows<V, word>(p, 0).at, 0, c, 64);
  }
  if (p.rows > unit)
    run_edge<V, word, true>(p, Rows<V, word>(p, 1).at, 1, c, (p.rows - unit) * word);
}

// Calls emit as walk_tiles does, for pairs of lines straight from rows that lie in L1.
template <class V, int word, class Emit>
inline int64_t walk_near(const Panel& p, Emit emit) {
  constexpr int L = 16 / word;
  const Rows<V, word> upper(p, 0), lower(p, 1);
  Fetch<V, word> fetch(p, 0);
  int64_t c = 0;
  for (const int64_t columns = p.columns; c + L <= columns; c += L) {
    typename V::type v[2 * L];
    load_whole_block<V, word>(v, upper.at, c * word);
    load_whole_block<V, word>(v + L, lower.at, c * word);
    emit(c, v, nothing);
    fetch.block(c * word);
  }
  return c;
}

template <class V, int word>
void run_paired_near(const Panel& p) {
  constexpr int unit = 64 / word;
  int64_t c = 0;
  if (p.rows == 2 * unit) c = walk_near<V, word>(p, pairs_of<V, word>(p.dst, p.dst_of_column));
  const int bytes = p.rows * word;
  run_edge<V, word, true>(p, Rows<V, word>(p, 0).at, 0, c, bytes < 64 ? bytes : 64);
  if (bytes > 64) run_edge<V, word, true>(p, Rows<V, word>(p, 1).at, 1, c, bytes - 64);
}

template <class V, int word>
PanelKernels panel_kernels_of() {
  if constexpr (V::lanes == 4) {
    return {run_cached<V, word>,
            run_streamed<V, word>,
            run_paired<V, word>,
            run_paired_near<V, word>,
            nullptr,
            nullptr,
            run_uniform<V, word>};
  } else {
    return {run_cached<V, word>, run_cached<V, word>, nullptr, nullptr, nullptr, nullptr, nullptr};
  }
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
