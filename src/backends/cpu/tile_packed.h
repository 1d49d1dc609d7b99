// How panels are put together in a buffer and leave it: rows that fill no line, runs that begin anywhere in one.
//
// A Vector offers besides: load_partial(pointer, bytes), store_lane<lane>(dst, v) and store_lane_partial<lane>(dst, v,
// bytes), 16 bytes of a vector and fewer.
#pragma once

#include "backends/cpu/tile_panel.h"

namespace infini::cpu {

// The first bytes of a run up to a line of dst; then whole lines are left.
template <class V>
void begin_run(Outflow& out) {
  const auto into_line = [](const char* p) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) & 63); };
  char* dst = out.dst + out.run->dst;
  const char* from = out.buffer + out.run->buffer;
  int64_t bytes = out.run_bytes;
  if (out.carried) {
    const int64_t before = into_line(dst);
    dst -= before, from -= before, bytes += before;
  } else if (const int64_t head = -into_line(dst) & 63; head != 0) {
    const int64_t first = head < bytes ? head : bytes;
    V::store_partial(dst, V::load(from), static_cast<int>(first));
    dst += first, from += first, bytes -= first;
  }
  out.to = dst, out.from = from, out.left = bytes;
}

// The bytes behind a run's last line.
template <class V>
void end_run(Outflow& out) {
  if (out.carry != nullptr)
    V::store(out.carry + out.run->buffer - 64, V::load(out.buffer + out.run->buffer + out.run_bytes - 64));
  else if (out.left > 0)
    V::store_partial(out.to, V::load(out.from), static_cast<int>(out.left));
  ++out.run;
  if (--out.runs > 0) begin_run<V>(out);
}

// By value: the stores might change anything that is read through a reference.
template <class V>
[[gnu::always_inline]] inline void stream_lines(Outflow& out, int64_t lines) {
  char* to = out.to;
  const char* from = out.from;
  out.to += 64 * lines, out.from += 64 * lines, out.left -= 64 * lines;
  for (const char* end = from + 64 * lines; from < end; from += 64, to += 64) V::stream(to, V::load(from));
}

// Lets so many lines flow out, or all that are left.
template <class V>
[[gnu::always_inline]] inline void flow_lines(Outflow& out, int64_t lines) {
  const int64_t fetched = lines < out.lines ? lines : out.lines;
  const int64_t* line = out.line;
  const char* const base = out.fetch;
  out.line += fetched, out.lines -= fetched;
  for (int64_t i = 0; i < fetched; ++i) __builtin_prefetch(base + line[i], 0, 2);
  while (lines > 0 && out.runs > 0) {
    const int64_t whole = out.left / 64, now = lines < whole ? lines : whole;
    stream_lines<V>(out, now);
    lines -= now;
    if (out.left < 64) end_run<V>(out);
  }
}

// After `bytes` more were put together.
template <class V>
[[gnu::always_inline]] inline void flow(Outflow& out, int64_t bytes) {
  const int64_t credit = out.credit + bytes;
  out.credit = credit & 63;
  flow_lines<V>(out, credit / 64);
}

template <class V>
void finish_outflow(Outflow& out) {
  while (out.runs > 0 || out.lines > 0) flow_lines<V>(out, 16);
}

// Lane l of v[k] is column l * L + k: stores those below `columns`, `bytes` of each.
template <class V, int word, int lane>
[[gnu::always_inline]] inline void store_lanes(const typename V::type* v, char* dst, const int64_t* column, int columns, int bytes) {
  constexpr int L = 16 / word;
  for (int k = 0; k < L && lane * L + k < columns; ++k) {
    if (bytes == 16) V::template store_lane<lane>(dst + column[lane * L + k], v[k]);
    else V::template store_lane_partial<lane>(dst + column[lane * L + k], v[k], bytes);
  }
}

// L rows by a whole vector of columns at a time: one load for each row, 16 bytes for each column.
template <class V, int word>
inline void run_narrow(const Panel& p, int row, int bytes) {
  constexpr int L = 16 / word, width = 64 / word;
  const char* at[L];
  for (int r = 0; r < L; ++r) at[r] = p.src + p.src_of_row[row + r];
  char* const dst = p.dst + row * word;
  for (int64_t c = 0; c < p.columns; c += width) {
    // What is left beside whole vectors is done by one that overlaps its neighbour.
    const int count = p.columns < width ? static_cast<int>(p.columns) : width;
    const int64_t first = c + count > p.columns ? p.columns - count : c;
    typename V::type v[L];
    for (int r = 0; r < L; ++r)
      v[r] = count == width ? V::load(at[r] + first * word) : V::load_partial(at[r] + first * word, count * word);
    if constexpr (L > 1) transpose_lanes<V, word>(v);
    const int64_t* const column = p.dst_of_column + first;
    store_lanes<V, word, 0>(v, dst, column, count, bytes);
    store_lanes<V, word, 1>(v, dst, column, count, bytes);
    store_lanes<V, word, 2>(v, dst, column, count, bytes);
    store_lanes<V, word, 3>(v, dst, column, count, bytes);
    flow<V>(*p.outflow, bytes * count);
  }
}

// Fewer columns than a block has, from rows that may be read on.
template <class V, int word>
inline void run_short(const Panel& p) {
  constexpr int L = 16 / word;
  typename V::type v[L];
  load_whole_block<V, word>(v, Rows<V, word>(p, 0).at, 0);
  for (int64_t c = 0; c < p.columns; ++c) V::store(p.dst + p.dst_of_column[c], v[c]);
  flow<V>(*p.outflow, 64 * p.columns);
}

template <class V, int word>
void run_packed(const Panel& p) {
  constexpr int L = 16 / word;
  if (p.rows * word == 64 && p.columns < L && p.reads_on) return run_short<V, word>(p);
  int row = 0;
  if (p.rows * word == 64 && p.columns >= L) {
    const auto emit = [dst = p.dst, column = p.dst_of_column, out = p.outflow](int64_t c, const typename V::type* v, auto) {
      constexpr int step = L < 4 ? L : 4;
      for (int k = 0; k < L; ++k) {
        V::store(dst + column[c + k], v[k]);
        if (k % step == step - 1) flow_lines<V>(*out, step);
      }
    };
    walk_overlapping<V, word>(p, Rows<V, word>(p, 0).at, 0, emit);
    return;
  }
  for (; row + L <= p.rows; row += L) run_narrow<V, word>(p, row, 16);
  if (row < p.rows) run_narrow<V, word>(p, row, (p.rows - row) * word);
}

}  // namespace infini::cpu
