// How a rearrangement is cut into tiles: the argument that kernels receive by value. Both the
// host's and the device's compiler see this file: C++17, members of fixed width, no padding, no
// pointers.
//
// A tile is a box of the plan's nest. It is loaded in bursts of `span` bytes into a buffer, and
// stored in runs of bytes that are contiguous in dst. Where a run is contiguous in the buffer too,
// it is stored from there (direct); elsewhere its words are picked one by one into a second buffer.
#pragma once

#include <stdint.h>

namespace infini::kunlun {

constexpr int max_tile_loops = 12;
constexpr int max_run_levels = 4;

constexpr int core_buffer_bytes = 6144;  // of a core's 8 KB; frames and arguments have the rest
constexpr int direct_buffer_bytes = core_buffer_bytes / 2;  // two: one arrives while one leaves
constexpr int pick_buffer_bytes = core_buffer_bytes / 3;    // two that arrive, one that leaves
constexpr int cluster_buffer_bytes = 64 << 10;              // two, of a cluster's 256 KB
constexpr int cores_per_cluster = 64;

struct TileLoop {
  int64_t extent, tiles;       // points, and tiles of `tile` points (the last may have fewer)
  int64_t dst_step, src_step;  // bytes from point to point
  int32_t tile, local_step;    // points per tile; bytes from point to point in the buffer
};

// Loops outermost first, the last one walks the words of an atom. The last `run_loops` loops are
// contiguous in dst, all but the first of them whole in every tile: a run.
struct TileArguments {
  int64_t dst_offset, src_offset, tiles;
  int32_t depth, run_loops;
  int32_t unit;                        // bytes of a word: 1, 2, 4 or 8
  int32_t span_mask;                   // bit i: loop i lies inside a burst
  int32_t piece;                       // points of the first run loop that one store moves
  int32_t point_bytes;                 // of a run per point of its first loop
  int32_t direct;                      // 1: runs are contiguous in the buffer
  int32_t run_levels;                  // how a point of a run is picked: outermost level first,
  int32_t run_counts[max_run_levels];  // steps in words
  int32_t run_steps[max_run_levels];
  TileLoop loops[max_tile_loops];
};
static_assert(sizeof(TileLoop) == 40 && sizeof(TileArguments) == 88 + 40 * max_tile_loops,
              "the device must see the same layout");

}  // namespace infini::kunlun
