// The tile schedule: how a block moves a piece of the plan through shared memory.
//
// A tile is a product of (parts of) the plan's loops. Two chains of loops shape it: the D chain makes
// one contiguous run of bytes in dst, the S chain one dense stretch of src. Loops may be in both.
//   load:  every stretch of src (a row) is copied into shared memory as it lies in memory, byte for
//          byte, gaps included, with aligned 16-byte accesses: the row's image.
//   store: every run of dst is written with aligned 16-byte accesses; each vector is gathered from
//          the images, unit by unit.
// Neither side needs an aligned pitch: images start at the 16-byte boundary below their row, and the
// first and last vector of a run may be partial.
// Law: over all tiles every unit of the plan is written exactly once with the value of its source;
// reads stay inside src_range(plan); writes touch dst's elements alone.
//
// The walk functions below are constexpr: kernels and the host interpreter that proves the law
// execute the same code. C++17.
#pragma once

#include <cstdint>

#include "backends/gpu/fast_divide.h"

namespace infini::gpu {

constexpr int vector_bytes = 16;
constexpr int tile_threads = 256;
constexpr int max_grid_loops = 66;
constexpr int max_tile_loops = 12;

// A loop that blocks are spread over.
struct GridLoop {
  FastDivisor extent;
  int64_t dst_step, src_step;
};

// A loop inside the tile, as one of the three walks sees it.
struct TileLoop {
  FastDivisor extent;
  uint32_t rows;   // how many rows of the image one step goes on
  int32_t image;   // how many bytes one step goes on inside a row's image
  int64_t step;    // bytes in src (row walk) or in dst (run walk)
};

// Values that differ in the last tile along the loop that the tile cuts: [0] whole, [1] last.
using Clipped = int32_t[2];

struct TileSchedule {
  // The grid, fastest loop first. d_cut and s_cut: the grid loops whose last index is a clipped
  // tile, or -1.
  int32_t grid_depth, d_cut, s_cut;
  uint32_t tiles;
  // Positions in a dst run (D chain), runs in a tile (loops of S alone), rows of a tile (loops of D
  // alone), and the bytes of one row's image.
  Clipped run_units, runs, rows, row_bytes;
  // The lowest src address of a tile lies this many bytes below its first element (steps < 0).
  Clipped below;
  // Row r of the image starts at r·pitch + (r / row_group)·16: the skew that spreads banks.
  uint32_t row_pitch;
  FastDivisor row_group;
  // 16-byte vectors per row: when all rows start aligned, and when they may start anywhere.
  FastDivisor row_vectors[2];
  // All rows of a tile have one alignment; all runs of a tile have one alignment.
  int32_t rows_uniform, runs_uniform;
  // Threads in the store walk (uniform): bits of the thread number, from the lowest: v, c, v, c.
  // Each goes on by v_stride vectors, whose images lie v_image bytes on.
  uint32_t v_low_bits, c_low_bits, v_bits, v_stride;
  int32_t v_image;
  // Law of the run walk: position q + period_units is found period_image bytes after position q.
  int32_t period_units, period_image;
  // Otherwise the images of a run's positions are looked up in a table of 16-bit numbers behind the
  // image, and groups of 32 threads walk over groups of 2^v_low_bits vectors × 2^c_low_bits runs.
  FastDivisor run_groups;
  uint32_t shared_bytes, table_offset;
  // Where reads may go.
  int64_t dst_offset, src_offset, src_begin, src_end;
  int32_t unit, run_depth, runs_depth, row_depth;
  TileLoop run[max_tile_loops];   // positions in a run: rows, image
  TileLoop many[max_tile_loops];  // runs of a tile: image, step in dst
  TileLoop row[max_tile_loops];   // rows of a tile: step in src
  GridLoop grid[max_grid_loops];
};
static_assert(sizeof(TileSchedule) <= 4032, "a kernel argument is at most 4 KB");

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

// The src offset of a row from the tile's first.
constexpr int64_t row_step(const TileSchedule& s, uint32_t row) {
  int64_t step = 0;
  for (int i = 0; i < s.row_depth; ++i) step += take_digit(row, s.row[i].extent) * s.row[i].step;
  return step;
}

constexpr uint32_t row_image(const TileSchedule& s, uint32_t row) {
  return row * s.row_pitch + divide(row, s.row_group) * vector_bytes;
}

struct RunPosition {
  uint32_t row;
  int32_t image;  // inside the row, may be negative until `below` is added
};

// Where position `unit` of a run is found; goes on linearly past the end of the run.
constexpr RunPosition run_position(const TileSchedule& s, uint32_t unit) {
  RunPosition at{0, 0};
  for (int i = 0; i < s.run_depth; ++i) {
    const uint32_t digit = i + 1 < s.run_depth ? take_digit(unit, s.run[i].extent) : unit;
    at.row += digit * s.run[i].rows;
    at.image += static_cast<int32_t>(digit) * s.run[i].image;
  }
  return at;
}

// The image of position `unit` when all rows start `shift` bytes into their image.
constexpr int32_t uniform_image(const TileSchedule& s, int32_t unit, int32_t shift) {
  const int32_t wrap = unit < 0 ? 1 : 0;  // positions before the run: by the law of the period
  const RunPosition at = run_position(s, static_cast<uint32_t>(unit + wrap * s.period_units));
  return static_cast<int32_t>(row_image(s, at.row)) + at.image + shift - wrap * s.period_image;
}

struct RunPlace {
  int64_t dst;
  int32_t image;
};

// Where run number `run` of a tile lies.
constexpr RunPlace place_run(const TileSchedule& s, uint32_t run) {
  RunPlace place{0, 0};
  for (int i = 0; i < s.runs_depth; ++i) {
    const uint32_t digit = take_digit(run, s.many[i].extent);
    place.dst += digit * s.many[i].step;
    place.image += static_cast<int32_t>(digit) * s.many[i].image;
  }
  return place;
}

// The first vector and the first run of a thread in the uniform store walk.
struct ThreadPlace {
  uint32_t vector, run;
};

constexpr ThreadPlace place_thread(const TileSchedule& s, uint32_t thread) {
  const uint32_t v_low = thread & ((1u << s.v_low_bits) - 1);
  const uint32_t c_low = (thread >> s.v_low_bits) & ((1u << s.c_low_bits) - 1);
  const uint32_t rest = thread >> (s.v_low_bits + s.c_low_bits);
  const uint32_t v_high_bits = s.v_bits - s.v_low_bits;
  const uint32_t v_high = rest & ((1u << v_high_bits) - 1);
  return {v_low | (v_high << s.v_low_bits), c_low | ((rest >> v_high_bits) << s.c_low_bits)};
}

// The store walk by table: how many groups of 32 threads' work there are, and what a thread takes of
// one of them.
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

}  // namespace infini::gpu
