// The tile schedule: how a block moves a piece of the plan through shared memory.
//
// A tile is a product of (parts of) the plan's loops. Two chains of loops shape it: the D chain
// makes one contiguous run of bytes in dst, the S chain one dense stretch of src. Loops may be in
// both.
//   load:  every stretch of src (a row) is copied into shared memory as it lies in memory, byte for
//          byte, gaps included, with aligned 16-byte accesses: the row's image.
//   store: every run of dst is written with aligned 16-byte accesses; each vector is gathered from
//          the images, unit by unit.
// Neither side needs an aligned pitch: images start at the 16-byte boundary below their row, and
// the first and last vector of a run may be partial. Law: over all tiles every unit of the plan is
// written exactly once with the value of its source; reads stay inside src_range(plan); writes
// touch dst's elements alone.
//
// The walk functions below are constexpr: kernels and the host interpreter that proves the law
// execute the same code. C++17.
#pragma once

#include <cstdint>

#include "backends/gpu/fast_divide.h"

namespace infini::gpu {

constexpr int vector_bytes = 16;
constexpr int sector_bytes = 32;  // what memory is written by
constexpr int tile_threads = 256;
constexpr int max_grid_loops = 10;  // deeper grids are left to the generic schedule
constexpr int max_tile_loops = 8;

// How a thread finds what it gathers.
enum class Gather : int32_t {
  table,     // looks every position up in a table of 16-bit numbers; for every tile
  prepared,  // at offsets that it looks up once: its positions have one alignment throughout
  linear,    // at even distances: one loop, all runs aligned
  columns,   // as linear, 4 bytes of neighbouring runs at a time (units of 1 and 2 bytes)
};

// A loop that blocks are spread over.
struct GridLoop {
  FastDivisor extent;
  int64_t dst_step, src_step;
};

// A loop inside the tile, as one of the three walks sees it.
struct TileLoop {
  FastDivisor extent;
  uint32_t rows;  // how many rows of the image one step goes on
  int32_t image;  // how many bytes one step goes on inside a row's image
  int64_t step;   // bytes in src (row walk) or in dst (run walk)
};

// Values that differ in the last tile along the loop that the tile cuts: [0] whole, [1] last.
using Clipped = int32_t[2];

struct TileSchedule {
  Gather gather;
  int32_t unit;
  uint32_t tiles, shared_bytes;
  // In shared memory behind the images: places of rows and of runs where they take more than one
  // loop, and the table of positions.
  uint32_t rows_at, runs_at, table_at;
  // The grid, fastest loop first. d_cut and s_cut: the grid loops whose last index is a clipped
  // tile, or -1.
  int32_t grid_depth, d_cut, s_cut;
  int32_t run_depth, runs_depth, row_depth;
  int64_t dst_offset, src_offset;
  int64_t src_begin, src_end;   // where reads may go
  int64_t rows_low, rows_high;  // how far rows start from the first, at most
  // Positions in a dst run (D chain), runs in a tile (loops of S alone), rows of a tile (loops of D
  // alone), and the bytes of one row's image.
  Clipped run_units, runs, rows, row_bytes;
  // The lowest src address of a tile lies this many bytes below its first element (steps < 0).
  Clipped below;
  // Row r of the image starts at r·pitch + (r / row_group)·16: the skew that spreads banks.
  uint32_t row_pitch;
  FastDivisor row_group;
  uint32_t row_lane_bits;  // 2^row_lane_bits threads share a row
  int32_t rows_even;       // all rows of a tile have one alignment
  // Threads in the store walk, see split_thread(). Each goes on by v_stride vectors, whose images lie v_image bytes on. v_turn: threads start
  // at this vector, so that the partial first and last meet in one group.
  uint32_t v_low_bits, c_low_bits, v_bits, v_stride, v_turn;
  int32_t v_image;
  int32_t one_step;  // v_stride covers a whole run, also one that starts with a partial vector
  // Position q + period is found period_image bytes after position q, if rows_even; in linear walks
  // a period is one vector, and neighbouring positions are unit_image bytes apart.
  FastDivisor period;
  int32_t period_image, unit_image;
  uint32_t table_units;  // positions that `prepared` looks up in a table of 32-bit numbers
  // (table): groups of 2^v_low_bits vectors per run.
  FastDivisor run_groups;
  TileLoop run[max_tile_loops];   // positions in a run: rows, image
  TileLoop many[max_tile_loops];  // runs of a tile: image, step in dst
  TileLoop row[max_tile_loops];   // rows of a tile: step in src
  GridLoop grid[max_grid_loops];
};
static_assert(sizeof(TileSchedule) <= 2048, "kernel arguments travel with every launch");

// Where one tile lies and how far it reaches.
struct TilePlace {
  int64_t dst, src;  // offsets of the first element from the base pointers
  int32_t below, run_units, runs, rows, row_bytes;
};

constexpr TilePlace place_tile(const TileSchedule& s, uint32_t tile) {
  TilePlace place{s.dst_offset, s.src_offset, 0, 0, 0, 0, 0};
  bool d_last = false, s_last = false;
  for (int i = 0; i < s.grid_depth; ++i) {
    const GridLoop& loop = s.grid[i];
    const uint32_t digit = take_digit(tile, loop.extent);
    place.dst += digit * loop.dst_step;
    place.src += digit * loop.src_step;
    const bool last = digit + 1 == loop.extent.divisor;
    if (i == s.d_cut) d_last = last;
    if (i == s.s_cut) s_last = last;
  }
  place.run_units = s.run_units[d_last];
  place.rows = s.rows[d_last];
  place.runs = s.runs[s_last];
  place.row_bytes = s.row_bytes[s_last];
  place.below = s.below[s_last];
  return place;
}

// The digit of loop i of `depth`; the last loop takes what is left.
constexpr uint32_t loop_digit(uint32_t& n, const TileLoop& loop, bool last) {
  return last ? n : take_digit(n, loop.extent);
}

// The src offset of a row from the tile's first. Most tiles have one loop of rows: worth a
// shortcut, here and in the walks below.
constexpr int64_t row_step(const TileSchedule& s, uint32_t row) {
  if (s.row_depth == 1) return row * s.row[0].step;
  int64_t step = 0;
  for (int i = 0; i < s.row_depth; ++i)
    step += loop_digit(row, s.row[i], i + 1 == s.row_depth) * s.row[i].step;
  return step;
}

constexpr uint32_t row_image(const TileSchedule& s, uint32_t row) {
  return row * s.row_pitch + divide(row, s.row_group) * vector_bytes;
}

// Where position `unit` of a run is found in shared memory when the tile's lowest address lies
// `origin` bytes past a 16-byte boundary. Goes on evenly past the end of the run.
constexpr int32_t position_image(const TileSchedule& s, uint32_t unit, uint32_t origin) {
  uint32_t row = 0;
  int32_t image = 0;
  for (int i = 0; i < s.run_depth; ++i) {
    const uint32_t digit = loop_digit(unit, s.run[i], i + 1 == s.run_depth);
    row += digit * s.run[i].rows;
    image += static_cast<int32_t>(digit) * s.run[i].image;
  }
  uint32_t shift = origin;
  if (!s.rows_even) shift = (origin + static_cast<uint32_t>(row_step(s, row))) & (vector_bytes - 1);
  return static_cast<int32_t>(row_image(s, row) + shift) + image;
}

// Where the positions of a vector are found in the table of the first table_units positions.
struct PreparedVector {
  uint32_t index;  // of its first position, when all positions are found side by side
  int32_t image;   // to be added to every entry
};

// All rows have one alignment: the table holds one period, which repeats.
constexpr PreparedVector find_in_period(const TileSchedule& s, int32_t first) {
  uint32_t unit = static_cast<uint32_t>(first) + s.period.divisor;  // first may be negative
  const uint32_t periods = divide(unit, s.period);
  unit -= periods * s.period.divisor;
  return {unit, (static_cast<int32_t>(periods) - 1) * s.period_image};
}

// Rows lie anyhow: the table holds what a thread needs before it goes on. Positions before the run
// belong to a later vector of the thread, if it has one.
constexpr PreparedVector find_in_stride(const TileSchedule& s, int32_t position) {
  if (position >= 0) return {static_cast<uint32_t>(position), 0};
  if (s.one_step) return {0, 0};
  const auto stride = static_cast<int32_t>(s.v_stride) * (vector_bytes / s.unit);
  return {static_cast<uint32_t>(position + stride), -s.v_image};
}

struct RunPlace {
  int64_t dst;
  int64_t image;
};

// Where run number `run` of a tile lies.
constexpr RunPlace place_run(const TileSchedule& s, uint32_t run) {
  RunPlace place{0, 0};
  for (int i = 0; i < s.runs_depth; ++i) {
    const uint32_t digit = loop_digit(run, s.many[i], i + 1 == s.runs_depth);
    place.dst += digit * s.many[i].step;
    place.image += static_cast<int64_t>(digit) * s.many[i].image;
  }
  return place;
}

// The vector and the run (in columns: the group of runs) that a thread starts with.
struct ThreadPlace {
  uint32_t vector, run;
};

// Bits of the thread number, from the lowest: vector, run, vector, run.
template <class Schedule>
constexpr ThreadPlace split_thread(const Schedule& s, uint32_t thread) {
  const uint32_t v_low = thread & ((1u << s.v_low_bits) - 1);
  const uint32_t c_low = (thread >> s.v_low_bits) & ((1u << s.c_low_bits) - 1);
  const uint32_t rest = thread >> (s.v_low_bits + s.c_low_bits);
  const uint32_t v_high_bits = s.v_bits - s.v_low_bits;
  const uint32_t v_high = rest & ((1u << v_high_bits) - 1);
  return {v_low | (v_high << s.v_low_bits), c_low | ((rest >> v_high_bits) << s.c_low_bits)};
}

constexpr ThreadPlace place_thread(const TileSchedule& s, uint32_t thread) {
  const ThreadPlace place = split_thread(s, thread);
  return {(place.vector + s.v_turn) & ((1u << s.v_bits) - 1), place.run};
}

// The store walk by table: how many groups of a warp's work there are, and what a thread takes
// of one of them.
constexpr uint32_t table_groups(const TileSchedule& s, const TilePlace& place) {
  const uint32_t runs_per_group = 1u << s.c_low_bits;
  const auto runs = static_cast<uint32_t>(place.runs);
  return s.run_groups.divisor * ((runs + runs_per_group - 1) >> s.c_low_bits);
}

constexpr ThreadPlace place_in_group(const TileSchedule& s, uint32_t group, uint32_t thread) {
  const uint32_t v_low = thread & ((1u << s.v_low_bits) - 1);
  const uint32_t c_low = (thread >> s.v_low_bits) & ((1u << s.c_low_bits) - 1);
  const uint32_t vectors = take_digit(group, s.run_groups);
  return {(vectors << s.v_low_bits) | v_low, (group << s.c_low_bits) | c_low};
}

// Linear gathering wants dst addresses that are multiples of the vector, columns also src addresses
// that are multiples of 4. When the bases are not, the same schedule runs as `prepared`.
constexpr bool bases_allow(Gather gather, uintptr_t dst, uintptr_t src) {
  if (gather == Gather::columns && src % 4 != 0) return false;
  return gather < Gather::linear || dst % vector_bytes == 0;
}

}  // namespace infini::gpu
