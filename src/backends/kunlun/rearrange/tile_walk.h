// What every kernel that walks tiles does: find a tile, its bursts and its stores, and pick words.
// Device code; local memory and registers only. 64-bit arithmetic is slow there, so that it is kept
// to addresses: once per tile and once per DMA.
#pragma once

#include "backends/kunlun/rearrange/tile.h"
#include "backends/kunlun/runtime/launch.h"

namespace infini::kunlun {

struct Tile {
  int64_t dst, src;        // of its first point, from the base pointers
  int32_t low, span;       // where a burst begins relative to its first point (<= 0), and its bytes
  int32_t bursts, stores;  // how many
  int32_t extent[max_tile_loops];
};

__device__ inline bool in_span(const TileArguments& a, int i) { return (a.span_mask >> i) & 1; }

__device__ inline void find_tile(const TileArguments& a, int64_t index, Tile& t) {
  t.dst = a.dst_offset;
  t.src = a.src_offset;
  t.low = 0;
  t.span = a.unit;
  t.bursts = t.stores = 1;
  const int first = a.depth - a.run_loops;
  for (int i = a.depth - 1; i >= 0; --i) {
    const TileLoop& loop = a.loops[i];
    int64_t start = 0;
    if (loop.tiles > 1) {
      start = index % loop.tiles * loop.tile;
      index /= loop.tiles;
    }
    const int extent = static_cast<int>(lesser<int64_t>(loop.tile, loop.extent - start));
    t.extent[i] = extent;
    t.dst += start * loop.dst_step;
    t.src += start * loop.src_step;
    if (in_span(a, i)) {
      const int reach = (extent - 1) * loop.local_step;  // equals the source's step
      t.span += reach < 0 ? -reach : reach;
      t.low += lesser(reach, 0);
    } else if (loop.src_step != 0) {
      t.bursts *= extent;
    }
    if (i < first) t.stores *= extent;
    if (i == first) t.stores *= ceil_div(extent, a.piece);
  }
}

// Burst n: bytes [src, src + span) go to place `local` of the buffer.
__device__ inline void find_burst(const TileArguments& a, const Tile& t, int n, int64_t& src,
                                  int& local) {
  src = t.src + t.low;
  local = 0;
  for (int i = a.depth - 1; i >= 0 && n > 0; --i) {
    if (in_span(a, i) || a.loops[i].src_step == 0 || t.extent[i] == 1) continue;
    const int at = n % t.extent[i];
    n /= t.extent[i];
    src += at * a.loops[i].src_step;
    local += at * a.loops[i].local_step;
  }
}

// Store n: `points` points of a run, from place `local` of the buffer to dst.
struct Store {
  int64_t dst;
  int32_t local, points;
};
__device__ inline Store find_store(const TileArguments& a, const Tile& t, int n) {
  const int first = a.depth - a.run_loops;
  const int pieces = ceil_div(t.extent[first], a.piece);
  const int point = n % pieces * a.piece;
  n /= pieces;
  Store s{t.dst + point * a.loops[first].dst_step, point * a.loops[first].local_step - t.low,
          lesser(a.piece, t.extent[first] - point)};
  for (int i = first - 1; i >= 0 && n > 0; --i) {
    if (t.extent[i] == 1) continue;
    const int at = n % t.extent[i];
    n /= t.extent[i];
    s.dst += at * a.loops[i].dst_step;
    s.local += at * a.loops[i].local_step;
  }
  return s;
}

// Gathers the words of `points` points, `step` words apart, into consecutive words. In is a pointer
// into local or shared memory.
template <typename Word, typename In>
__device__ void pick(Word* out, In in, int points, int step, const TileArguments& a) {
  if (a.run_levels == 0) {
    for (int i = 0; i < points; ++i) out[i] = in[i * step];
    return;
  }
  int counts[max_run_levels - 1] = {1, 1, 1}, steps[max_run_levels - 1] = {0, 0, 0};
  const int last = a.run_levels - 1;
  for (int i = 0; i < last; ++i) {
    counts[i] = a.run_counts[i];
    steps[i] = a.run_steps[i];
  }
  const int inner = a.run_counts[last], inner_step = a.run_steps[last];
  for (int p = 0; p < points; ++p)
    for (int i = 0; i < counts[0]; ++i)
      for (int j = 0; j < counts[1]; ++j)
        for (int k = 0; k < counts[2]; ++k) {
          In from = in + (p * step + i * steps[0] + j * steps[1] + k * steps[2]);
          for (int w = 0; w < inner; ++w) *out++ = from[w * inner_step];
        }
}

}  // namespace infini::kunlun
