// How panels go past the cache whose columns begin anywhere in a line: whole lines are put together from
// this panel and the one before it, which waits in a buffer.
//
// A Vector offers besides: joined<unit>(before, v, skew), the 64 bytes of the pair that begin `skew` bytes
// before v, and store_joined<unit>(dst, before, v, valid, panel), the same at the ends of a run, where v has
// `valid` bytes and not more than the run's own bytes may be written. unit: 1, 2 or 4 divides skew.
#pragma once

#include "backends/cpu/rearrange/panels/buffered.h"
#include "backends/cpu/rearrange/panels/packed.h"

namespace infini::cpu {

// What is left of any panel beside whole blocks.
template <class V, int word>
void run_skewed_edge(const Panel& p, int64_t begin) {
  constexpr int L = 16 / word, unit = skew_unit(word);
  const Rows<V, word> rows(p, 0);
  typename V::type v[L];
  for (int64_t c = begin; c < p.columns; c += L) {
    const int columns = p.columns - c < L ? static_cast<int>(p.columns - c) : L;
    load_block<V, word>(v, rows.at, c * word, columns);
    char* carry = p.carry + c * line_bytes;
    for (int k = 0; k < columns; ++k, carry += line_bytes) {
      if (!p.unwritten)
        V::template store_joined<unit>(p.dst + p.dst_of_column[c + k], V::load(carry), v[k],
                                       p.rows * word, p);
      V::store(carry, v[k]);
    }
  }
}

// The first or the last panel of a run, or one that is not written. Lines that are written in part are asked for some columns
// before.
template <class V, int word>
void run_skewed_end(const Panel& p) {
  constexpr int L = 16 / word, unit = skew_unit(word);
  constexpr int64_t ahead = 32;
  const auto emit = [&](int64_t c, const typename V::type* v, auto between) {
    for (int k = 0; k < L; ++k) {
      between(k);
      char* const carry = p.carry + (c + k) * line_bytes;
      if (!p.unwritten && c + k + ahead < p.columns)
        __builtin_prefetch(p.dst + p.dst_of_column[c + k + ahead], 1);
      if (!p.unwritten)
        V::template store_joined<unit>(p.dst + p.dst_of_column[c + k], V::load(carry), v[k],
                                       p.rows * word, p);
      V::store(carry, v[k]);
    }
  };
  run_skewed_edge<V, word>(p, walk_streamed<V, word, true>(p, emit));
}

// The last columns of a panel, fewer than a block, from a block that overlaps its neighbour if there is one.
template <class V, int word>
inline void run_skewed_rest(const Panel& p, int left) {
  constexpr int L = 16 / word, unit = skew_unit(word);
  const int64_t first = p.columns < L ? 0 : p.columns - L;
  typename V::type v[L];
  load_block<V, word>(v, Rows<V, word>(p, 0).at, first * word, p.columns < L ? left : L);
  for (int64_t c = p.columns - left; c < p.columns; ++c) {
    char* const to = p.dst + p.dst_of_column[c];
    const auto skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & 63);
    const auto before = V::load(p.carry + c * line_bytes);
    V::store(p.carry + c * line_bytes, v[c - first]);
    V::stream(to - skew, V::template joined<unit>(before, v[c - first], skew));
  }
}

template <class V, int word>
void run_skewed(const Panel& p) {
  constexpr int L = 16 / word, unit = skew_unit(word);
  if (p.first || p.last || p.unwritten) return run_skewed_end<V, word>(p);
  const auto emit = [dst = p.dst, column = p.dst_of_column, carry = p.carry](
                        int64_t c, const typename V::type* v, auto between) {
    for (int k = 0; k < L; ++k) {
      between(k);
      char* to = dst + column[c + k];
      const auto skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & 63);
      const auto before = V::load(carry + (c + k) * line_bytes);
      V::store(carry + (c + k) * line_bytes, v[k]);
      V::stream(to - skew, V::template joined<unit>(before, v[k], skew));
    }
  };
  const int64_t done = walk_streamed<V, word, true>(p, emit), left = p.columns - done;
  if (left >= L) return run_skewed_edge<V, word>(p, done);
  if (left > 0) run_skewed_rest<V, word>(p, static_cast<int>(left));
}

// What is left of two lines' rows beside whole tiles, one line after the other.
template <class V, int word>
void run_skewed_pairs_edge(const Panel& p, int64_t begin) {
  constexpr int unit = 64 / word;
  Panel upper = p;
  upper.rows = p.rows < unit ? p.rows : unit;
  upper.last = p.last && p.rows <= unit;
  run_skewed_edge<V, word>(upper, begin);
  if (p.rows <= unit) return;
  Panel lower = p;
  lower.dst += line_bytes;
  lower.src_of_row += unit;
  lower.rows -= unit;
  lower.first = false;
  run_skewed_edge<V, word>(lower, begin);
}

// Only every second line is carried. near: of rows that lie in L1.
template <class V, int word, bool near>
void run_skewed_pairs(const Panel& p) {
  constexpr int L = 16 / word, unit = skew_unit(word);
  if (p.first || p.last || p.unwritten) return run_skewed_pairs_edge<V, word>(p, 0);
  const auto emit = [dst = p.dst, column = p.dst_of_column, carry = p.carry](
                        int64_t c, const typename V::type* v, auto between) {
    for (int k = 0; k < L; ++k) {
      char* to = dst + column[c + k];
      const auto skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & 63);
      const auto before = V::load(carry + (c + k) * line_bytes);
      between(2 * k);
      V::stream(to - skew, V::template joined<unit>(before, v[k], skew));
      between(2 * k + 1);
      V::store(carry + (c + k) * line_bytes, v[L + k]);
      V::stream(to - skew + line_bytes, V::template joined<unit>(v[k], v[L + k], skew));
    }
  };
  if constexpr (near)
    run_skewed_pairs_edge<V, word>(p, walk_near<V, word>(p, emit));
  else
    run_skewed_pairs_edge<V, word>(p, walk_tiles<V, word, 2>(p, emit));
}

// All that there is for words of a size, skewed columns included.
template <class V, int word>
PanelKernels skewed_panel_kernels_of() {
  PanelKernels kernels = panel_kernels_of<V, word>();
  kernels.skewed = run_skewed<V, word>;
  kernels.skewed_pairs = run_skewed_pairs<V, word, false>;
  kernels.skewed_pairs_near = run_skewed_pairs<V, word, true>;
  kernels.buffered = run_buffered<V, word, false>;
  kernels.buffered_streamed = run_buffered<V, word, true>;
  kernels.packed = run_packed<V, word>;
  kernels.atoms = run_atoms<V>;
  kernels.begin = begin_run<V>;
  kernels.finish = finish_outflow<V>;
  return kernels;
}

template <class V>
PanelKernels skewed_panel_kernels(int word) {
  switch (word) {
    case 1: return skewed_panel_kernels_of<V, 1>();
    case 2: return skewed_panel_kernels_of<V, 2>();
    case 4: return skewed_panel_kernels_of<V, 4>();
    case 8: return skewed_panel_kernels_of<V, 8>();
    default: return skewed_panel_kernels_of<V, 16>();
  }
}

}  // namespace infini::cpu
