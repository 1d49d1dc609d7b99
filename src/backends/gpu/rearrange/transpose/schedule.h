// The transpose schedule: tiles of two chains of loops that have no loop in common.
//
// Positions are the numbers of the loops that make one contiguous run in dst, columns those that
// make one contiguous row in src; a unit is a position and a column. A tile is a window of
// positions times a stretch of columns, wherever loops begin and end inside them.
//   load:  the rows of the window's positions go to shared memory with aligned 16-byte accesses,
//   each
//          as it lies in its 16 bytes.
//   store: the windows of the stretch's runs are gathered and written with aligned 16-byte
//   accesses.
// Windows are skewed: that of a run begins at the run's own boundary of `skew` bytes, so that all
// stores but those at the ends of a run are whole vectors, whatever the pitch. A tile therefore
// reads `lead_rows` rows of the window before. Law: over all tiles every unit of the plan is
// written exactly once with the value of its source; reads stay inside src_range(plan); writes
// touch dst's elements alone. C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/rearrange/tile/schedule.h"

namespace infini::gpu {

constexpr int transpose_threads = 256;
constexpr int max_chain_loops = 6;

struct ChainLoop {
  FastDivisor extent;
  int64_t step;  // in src (positions) or in dst (columns)
};

struct TransposeSchedule {
  int32_t unit;
  int32_t position_depth, column_depth, grid_depth;
  uint32_t tiles, shared_bytes;
  uint32_t positions, columns;  // of a whole run, of a whole row
  uint32_t window, stretch;     // positions and columns of one tile
  FastDivisor windows, stretches;
  int32_t windows_last;  // the order of tiles: along dst's runs first, or last of all
  uint32_t skew, lead_rows;
  int32_t by_words;     // units of 1 or 2 bytes: 4 bytes of neighbouring runs at a time
  int32_t rows_even;    // all rows start at multiples of 16 bytes and are whole vectors long
  int32_t whole_lines;  // src is fetched by lines rather than sectors
  // Threads in the load walk: so many share a row, at so many rows; in the store walk: so many
  // share a run, at so many runs.
  FastDivisor row_lanes, run_lanes;
  uint32_t row_threads, run_threads;
  uint32_t row_pitch;     // of images
  uint32_t group_bits;    // 2^group_bits rows (the units of a vector) ...
  uint32_t group_skew;    // ... are followed by this many bytes, which spread the banks
  int32_t ends_by_words;  // of short units: partial vectors at the ends of runs
  int32_t pieces_long;    // a vector's rows have at most one end of the innermost loop among them
  // In shared memory: where rows lie in src, where their images do (short units alone), and where runs lie, if that takes
  // more than one loop.
  uint32_t rows_at, places_at, runs_at;
  int64_t dst_offset, src_offset;
  int64_t src_begin, src_end;   // where reads may go
  int64_t rows_low, rows_high;  // how far positions reach from position 0 in src
  ChainLoop position[max_chain_loops], column[max_chain_loops];
  GridLoop grid[max_grid_loops];
};
static_assert(sizeof(TransposeSchedule) <= 1024, "kernel arguments travel with every launch");

// Rows that a tile holds; row r is position window_begin - lead_rows + r.
constexpr uint32_t transpose_rows(const TransposeSchedule& s) { return s.window + s.lead_rows; }

struct TransposePlace {
  int64_t dst, src;  // offsets of position 0, column 0
  uint32_t window_begin, first_column, columns;
  uint32_t row_begin, row_end;  // the rows that the tile has, see transpose_rows()
};

constexpr TransposePlace place_transpose(const TransposeSchedule& s, uint32_t tile) {
  TransposePlace place{s.dst_offset, s.src_offset, 0, 0, 0, 0, 0};
  if (!s.windows_last) place.window_begin = take_digit(tile, s.windows) * s.window;
  place.first_column = take_digit(tile, s.stretches) * s.stretch;
  for (int i = 0; i < s.grid_depth; ++i) {
    const uint32_t digit = take_digit(tile, s.grid[i].extent);
    place.dst += digit * s.grid[i].dst_step;
    place.src += digit * s.grid[i].src_step;
  }
  if (s.windows_last) place.window_begin = tile * s.window;
  const uint32_t left = s.columns - place.first_column;
  place.columns = left < s.stretch ? left : s.stretch;
  place.row_begin = place.window_begin < s.lead_rows ? s.lead_rows - place.window_begin : 0;
  const uint32_t end = s.positions + s.lead_rows - place.window_begin;
  place.row_end = end < transpose_rows(s) ? end : transpose_rows(s);
  return place;
}

// Whole vectors around a stretch stay inside its row of src, unless it is the row's first or last; and those around all rows
// that the tile can have stay inside src, unless these are the first or the last of src.
constexpr bool reads_stay_inside(const TransposeSchedule& s, const TransposePlace& place) {
  const uint32_t margin = 1u << s.group_bits;  // the units of a vector
  if (s.rows_even ||
      (place.first_column >= margin && place.first_column + place.columns + margin <= s.columns))
    return true;
  const int64_t unit = vector_bytes >> s.group_bits, first = place.src + place.first_column * unit;
  return first + s.rows_low - vector_bytes >= s.src_begin &&
         first + s.rows_high + place.columns * unit + vector_bytes <= s.src_end;
}

constexpr int64_t chain_step(const ChainLoop* loops, int depth, uint32_t number) {
  if (depth == 1) return number * loops[0].step;
  int64_t step = 0;
  for (int i = 0; i + 1 < depth; ++i) step += take_digit(number, loops[i].extent) * loops[i].step;
  return step + number * loops[depth - 1].step;
}

constexpr uint32_t transpose_image(const TransposeSchedule& s, uint32_t row) {
  return row * s.row_pitch + (row >> s.group_bits) * s.group_skew;
}

// The image of a row lies this many bytes on, so that it lies in its vectors as the row does, which
// begins at address `start`. Steps of the innermost loop of positions do not change it: pitches are
// the loop's step modulo 16.
constexpr uint32_t image_shift(const TransposeSchedule& s, uint32_t row, uintptr_t start) {
  return (static_cast<uint32_t>(start) - row * s.row_pitch) & (vector_bytes - 1);
}

// How many rows from this one on the innermost loop of positions goes on (before the first: until
// it begins).
constexpr uint32_t rows_to_turn(const TransposeSchedule& s, const TransposePlace& place,
                                uint32_t row) {
  const uint32_t position = place.window_begin + row;  // and lead_rows more
  if (position < s.lead_rows) return s.lead_rows - position;
  uint32_t number = position - s.lead_rows;
  return s.position[0].extent.divisor - take_digit(number, s.position[0].extent);
}

// Of a row that takes several loops to find: where its image begins, and after how many rows images go on elsewhere.
struct RowImage {
  uint16_t at, to_turn;
};
constexpr RowImage place_row_image(const TransposeSchedule& s, const TransposePlace& place,
                                   uint32_t row, uintptr_t start) {
  const uint32_t turn = rows_to_turn(s, place, row), most = UINT16_MAX;
  return {static_cast<uint16_t>(transpose_image(s, row) + image_shift(s, row, start)),
          static_cast<uint16_t>(turn < most ? turn : most)};
}

// The images of a vector's rows lie one pitch after the other, but for one place from which on they lie elsewhere.
struct RowParts {
  int32_t base, pitch, from, jump;
  constexpr int32_t operator()(int k) const { return base + k * pitch + (k >= from ? jump : 0); }
  constexpr int32_t again(int k) const { return (*this)(k); }
};
// Uneven rows of one loop, all shifted alike.
constexpr RowParts skewed_parts(const TransposeSchedule& s, uint32_t row, uint32_t shift) {
  const uint32_t units = 1u << s.group_bits;
  return {static_cast<int32_t>(transpose_image(s, row) + shift), static_cast<int32_t>(s.row_pitch),
          static_cast<int32_t>(units - (row & (units - 1))), static_cast<int32_t>(s.group_skew)};
}
// Uneven rows of several loops, none skewed: image_of(row) is what place_row_image() says.
template <class ImageOf>
constexpr RowParts listed_parts(const TransposeSchedule& s, uint32_t row, const ImageOf& image_of) {
  const RowImage image = image_of(row);
  const uint32_t turn = image.to_turn, rows = transpose_rows(s);
  const uint32_t next = turn < 1u << s.group_bits && row + turn < rows ? row + turn : row;
  const auto pitch = static_cast<int32_t>(s.row_pitch);
  return {image.at, pitch, static_cast<int32_t>(turn),
          image_of(next).at - image.at - static_cast<int32_t>(next - row) * pitch};
}

// By how many units a run's window begins before window_begin.
constexpr uint32_t window_lead(const TransposeSchedule& s, uintptr_t run) {
  return (static_cast<uint32_t>(run) & (s.skew - 1)) >> (4 - s.group_bits);
}

}  // namespace infini::gpu
