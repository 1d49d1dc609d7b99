// The shape of a tile: how much of each loop one block takes. The first half of making a schedule.
#pragma once

#include <cstdint>

#include "backends/gpu/model/device_model.h"
#include "backends/gpu/rearrange/unit_nest.h"

namespace infini::gpu {

// What a tile may use, and what it is judged by.
struct TileBudget {
  int tile_bytes = 16384;     // bytes that one block moves, about
  int shared_bytes = 32768;   // shared memory that one block may use
  int many_tiles = 4096;      // so many that the last ones of a launch do not matter
  int warp_threads = 32;      // threads that access memory together: a power of two from 32 to 128
  DeviceModel device = {};    // that the costs are reckoned for
  bool bases_aligned = true;  // both sides' first elements lie at multiples of 16 bytes
};

// How a tile's runs are written.
enum class Stores : uint8_t {
  vectors,  // gathered from the images and written at once
  staged,   // copied inside shared memory before, for runs that begin and end anywhere
  words,    // gathered and written by words of 4 bytes
  single,   // unit by unit: positions of a run need not touch
};

// Single units that lie further apart have nothing in common: no sector, of the largest no pair of them.
constexpr int64_t near_bytes(int unit) { return unit < 8 ? 32 : 64; }

struct TileShape {
  int64_t take[max_rank + 1];  // extent of each loop inside the tile
  bool in_run[max_rank + 1];   // part of the D chain: together one run in dst
  bool in_row[max_rank + 1];   // part of the S chain: together one dense stretch of src
  int run_order[max_rank + 1], row_order[max_rank + 1];  // the chains, innermost first
  int run_length, row_length;
  int stack;   // a loop of which a tile holds several steps beside each other, or -1
  int repeat;  // a loop that src does not know, of which every run is written; or -1
  Stores stores;
  int64_t run_units;    // positions in a run
  int64_t run_bytes;    // bytes from a run's first to past its last
  int64_t row_bytes;    // bytes from a row's first to past its last
  int64_t reach_bytes;  // row_bytes before demote_row_loops: what lies together in src
  int64_t units;        // units in the tile, each counted once
};

// Repeats so far apart take that many in turn until one begins as the first does, in its vectors or words.
int64_t repeats_apart(Stores stores, int64_t step);

// The loops that src knows, smallest step first.
struct SrcOrder {
  int loops[max_rank + 1];
  int count = 0;
  explicit SrcOrder(const UnitNest& nest);
};

// Grows the chains until the run has run_bytes and the row row_bytes, or the chains end. Runs of single
// units go on where these lie near each other, else only where they touch.
// `enough_bytes`: that a block writes at most of what it has read once.
TileShape grow_tile(const UnitNest& nest, const SrcOrder& order, int64_t run_bytes,
                    int64_t row_bytes, Stores stores, int64_t enough_bytes = 16384);

// Takes several steps of the innermost loop that the tile has none of, as many as divide it and fit
// into `most_units`: what a block prepares serves them all. False when there are none.
bool stack_tiles(const UnitNest& nest, TileShape& shape, int64_t most_units);

// Takes the outermost loop of the S chain out of it when it is in the D chain too: the tile stays
// the same, but its steps become rows of the image, which can be skewed over the banks.
bool demote_row_loop(const UnitNest& nest, TileShape& shape);

}  // namespace infini::gpu
