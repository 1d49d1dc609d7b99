// How panels are put together in a buffer and leave it: rows that fill no line, runs that begin anywhere in one.
//
// A Vector offers besides: load_partial(pointer, bytes), store_lane<lane>(dst, v) and store_lane_partial<lane>(dst, v,
// bytes), 16 bytes of a vector and fewer.
#pragma once

#include "backends/cpu/rearrange/panels/panel.h"

namespace infini::cpu {

// The first bytes of a run up to a line of dst; then whole lines are left.
template <class V>
void begin_run(Outflow& out) {
  const auto into_line = [](const char* p) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) & 63);
  };
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
    V::store(out.carry + out.run->buffer - 64,
             V::load(out.buffer + out.run->buffer + out.run_bytes - 64));
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
  for (const char* end = from + 64 * lines; from < end; from += 64, to += 64)
    V::stream(to, V::load(from));
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
[[gnu::always_inline]] inline void store_lanes(const typename V::type* v, char* dst,
                                               const int64_t* column, int columns, int bytes) {
  constexpr int L = 16 / word;
  for (int k = 0; k < L && lane * L + k < columns; ++k) {
    if (bytes == 16)
      V::template store_lane<lane>(dst + column[lane * L + k], v[k]);
    else
      V::template store_lane_partial<lane>(dst + column[lane * L + k], v[k], bytes);
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
      v[r] = count == width ? V::load(at[r] + first * word)
                            : V::load_partial(at[r] + first * word, count * word);
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
    const auto emit = [dst = p.dst, column = p.dst_of_column, out = p.outflow](
                          int64_t c, const typename V::type* v, auto) {
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

// One atom, by two moves that overlap, or in lines.
template <class V, int size>
[[gnu::always_inline]] inline void move_atom(char* dst, const char* src, int64_t bytes) {
  if constexpr (size <= 16) {
    char head[size], tail[size];
    __builtin_memcpy(head, src, size);
    __builtin_memcpy(tail, src + bytes - size, size);
    __builtin_memcpy(dst, head, size);
    __builtin_memcpy(dst + bytes - size, tail, size);
  } else {
    int64_t i = 0;
    for (; i + 64 <= bytes; i += 64) V::store(dst + i, V::load(src + i));
    if (i < bytes)
      V::store_partial(dst + i, V::load_partial(src + i, static_cast<int>(bytes - i)),
                       static_cast<int>(bytes - i));
  }
}

// Columns from `first` on; `size`: of the moves.
template <class V, int size>
void run_atoms_by(const Panel& p, int64_t first = 0) {
  const int64_t* const of_row =
      p.src_of_row;  // stores might change what is read through a reference
  const int64_t rows = p.rows, atom = p.atom;
  for (int64_t c = first; c < p.columns; ++c) {
    char* const dst = p.dst + p.dst_of_column[c];
    const char* const src = p.src + c * atom;
    for (int64_t r = 0; r < rows; ++r) move_atom<V, size>(dst + r * atom, src + of_row[r], atom);
    flow<V>(*p.outflow, rows * atom);
  }
}

// Three bytes as four, where a column follows that has the fourth byte and a row that overwrites it.
template <class V>
void run_threes(const Panel& p) {
  const int64_t* const of_row = p.src_of_row;
  const int64_t last = p.rows - 1;
  for (int64_t c = 0; c + 1 < p.columns; ++c) {
    char* const dst = p.dst + p.dst_of_column[c];
    const char* const src = p.src + 3 * c;
    for (int64_t r = 0; r < last; ++r) __builtin_memcpy(dst + 3 * r, src + of_row[r], 4);
    move_atom<V, 2>(dst + 3 * last, src + of_row[last], 3);
    flow<V>(*p.outflow, 3 * p.rows);
  }
  run_atoms_by<V, 2>(p, p.columns - 1);
}

template <class V>
void run_atoms(const Panel& p) {
  if (p.atom == 3) return run_threes<V>(p);
  if (p.atom <= 8) return run_atoms_by<V, 4>(p);
  if (p.atom <= 16) return run_atoms_by<V, 8>(p);
  if (p.atom <= 32) return run_atoms_by<V, 16>(p);
  return run_atoms_by<V, 64>(p);
}

}  // namespace infini::cpu
