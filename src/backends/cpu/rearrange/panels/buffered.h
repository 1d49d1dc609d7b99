// How tiles of several lines of each column are transposed in two passes through a buffer in L1.
//
// Where many rows or columns lie whole pages apart, all their lines have one place in L1, which holds fewer of them than a
// panel touches in turns: each is evicted between two uses. Here every line of src is loaded once and whole, L = 16 / word
// rows side by side, and every line of dst is stored once and whole, four columns side by side and several lines down each.
//
// First pass: L vectors, one of each row, are transposed inside of their lanes: lane l of vector c then has column l * L + c.
// They are kept in the buffer, those of one c and all groups of L rows side by side. Second pass: the lanes of four groups
// are exchanged, which gives a line of each of four columns.
#pragma once

#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/panels/lanes.h"

namespace infini::cpu {

// Bytes from the vectors of one c to those of the next: a line more than they are, so that they do not share their sets.
constexpr int64_t buffered_step(int64_t lines) { return (4 * lines + 1) * line_bytes; }

template <class V, int word>
[[gnu::noinline]] void fill_buffer(const Panel& p, int64_t step) {
  constexpr int L = 16 / word;
  const int64_t bytes = p.columns * word, groups = (p.rows + L - 1) / L;
  const char* const src =
      p.src;  // by value: the stores might change anything that is read through a reference
  const int64_t* row = p.src_of_row;
  char* const buffer = p.buffer;
  for (int64_t g = 0; g < groups; ++g, row += L) {
    const char* at[L];
    for (int r = 0; r < L; ++r) at[r] = src + row[r];
    char* to = buffer + g * line_bytes;
    int64_t i = 0;
    for (; i + line_bytes <= bytes; i += line_bytes) {
      typename V::type v[L];
      for (int r = 0; r < L; ++r) v[r] = V::load(at[r] + i);
      if constexpr (L > 1) transpose_lanes<V, word>(v);
      for (int c = 0; c < L; ++c, to += step) V::store(to, v[c]);
    }
    if (i == bytes) continue;
    typename V::type v[L];
    for (int r = 0; r < L; ++r) v[r] = V::load_partial(at[r] + i, static_cast<int>(bytes - i));
    if constexpr (L > 1) transpose_lanes<V, word>(v);
    for (int c = 0; c < L; ++c, to += step) V::store(to, v[c]);
  }
}

// A line of each of four columns, from four groups of rows.
template <class V>
[[gnu::always_inline]] inline void load_columns(typename V::type (&v)[4], const char* from) {
  const auto a = V::load(from), b = V::load(from + line_bytes), c = V::load(from + 2 * line_bytes),
             d = V::load(from + 3 * line_bytes);
  const auto even = V::even_lanes(a, b), more_even = V::even_lanes(c, d);
  const auto odd = V::odd_lanes(a, b), more_odd = V::odd_lanes(c, d);
  v[0] = V::even_lanes(even, more_even), v[1] = V::even_lanes(odd, more_odd);
  v[2] = V::odd_lanes(even, more_even), v[3] = V::odd_lanes(odd, more_odd);
}

// Asks for the lines of the next tile, a few at a time.
template <class V>
class NextTile {
 public:
  NextTile(const Panel& p, int word)
      : src_(p.next),
        row_(p.next_of_row),
        end_(p.next_of_row == nullptr ? nullptr : p.next_of_row + p.rows),
        width_(p.columns * word) {}
  // (Always inlined: g++ removes calls of what only prefetches.)
  [[gnu::always_inline]] void ask_for_four() {
    for (int i = 0; i < 4 && row_ != end_; ++i) {
      __builtin_prefetch(src_ + *row_ + at_, 0, 2);
      at_ += line_bytes;
      if (at_ >= width_) at_ = 0, ++row_;
    }
  }

 private:
  const char* src_;
  const int64_t *row_, *end_;
  int64_t width_, at_ = 0;
};

// Four columns of a tile that are written together, `count` of them at its end.
struct FourColumns {
  const char* from;  // in the buffer
  char* to[4];
  int count;
};

// All lines of four columns, then what is left of them.
template <class V, bool streamed, bool all_four>
[[gnu::always_inline]] inline void write_columns(const FourColumns& four, int64_t lines, int rest,
                                                 NextTile<V>& next) {
  const char* from = four.from;
  char* to[4] = {four.to[0], four.to[1], four.to[2], four.to[3]};
  const int count = all_four ? 4 : four.count;
  typename V::type v[4];
  for (int64_t k = 0; k < lines; ++k, from += 4 * line_bytes) {
    load_columns<V>(v, from);
    if (streamed) next.ask_for_four();
    for (int i = 0; i < 4; ++i) {
      if (!all_four && i >= count) break;
      if (streamed)
        V::stream(to[i] + k * line_bytes, v[i]);
      else
        V::store(to[i] + k * line_bytes, v[i]);
    }
  }
  if (rest == 0) return;
  load_columns<V>(v, from);
  for (int i = 0; i < count; ++i) V::store_partial(to[i] + lines * line_bytes, v[i], rest);
}

template <class V, int word, bool streamed>
[[gnu::noinline]] void empty_buffer(const Panel& p, int64_t step) {
  constexpr int L = 16 / word;
  const int64_t lines = p.rows * word / line_bytes, columns = p.columns;
  const int rest = static_cast<int>(p.rows * word % line_bytes);
  // By value: the stores might change anything that is read through a reference.
  char* const dst = p.dst;
  const int64_t* column = p.dst_of_column;
  const char* from = p.buffer;
  NextTile<V> next(p, word);
  int64_t block = 0;
  for (; block + 4 * L <= columns; block += 4 * L, column += 4 * L)
    for (int c = 0; c < L; ++c, from += step) {
      const FourColumns four{
          from,
          {dst + column[c], dst + column[L + c], dst + column[2 * L + c], dst + column[3 * L + c]},
          4};
      write_columns<V, streamed, true>(four, lines, rest, next);
    }
  for (int c = 0; c < L && block < columns; ++c, from += step) {
    FourColumns four{from, {}, 0};
    for (int i = 0; i < 4 && block + i * L + c < columns; ++i)
      four.to[four.count++] = dst + column[i * L + c];
    write_columns<V, streamed, false>(four, lines, rest, next);
  }
}

template <class V, int word, bool streamed>
void run_buffered(const Panel& p) {
  const int64_t step = buffered_step((p.rows * word + line_bytes - 1) / line_bytes);
  fill_buffer<V, word>(p, step);
  empty_buffer<V, word, streamed>(p, step);
}

}  // namespace infini::cpu
