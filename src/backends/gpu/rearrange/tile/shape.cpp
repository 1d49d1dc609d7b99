// Growing a tile: two greedy chains of loops, one contiguous in dst and one dense in src.
#include "backends/gpu/rearrange/tile/shape.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "backends/gpu/rearrange/tile/schedule.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

// A gap is read along when the stretch stays this dense, or when it fits into one sector anyway.
constexpr int64_t dense_step = sector_bytes;

// About `wanted` of `extent`, such that the pieces are nearly equal and, where the others steps
// leave them aligned, cover whole sectors.
int64_t even_piece(int64_t extent, int64_t wanted, int64_t step, bool sectors) {
  // A stretch that starts anywhere touches one vector more: leave room for it.
  if (!sectors && wanted * step > 2 * vector_bytes)
    wanted -= ceil_div(int64_t{vector_bytes - 1}, step);
  if (wanted >= extent) return extent;
  wanted = std::max<int64_t>(wanted, 1);
  const int64_t granule = sectors ? sector_bytes / std::gcd(sector_bytes, step) : 1;
  const int64_t piece = ceil_div(extent, ceil_div(extent, wanted));
  return std::min(extent, round_up(piece, granule));
}

// True when every step beyond the stretch itself keeps sectors aligned.
template <class Step>
bool keeps_sectors(const UnitNest& nest, int64_t beyond, Step step) {
  return std::all_of(nest.loops, nest.loops + nest.depth, [&](const Loop& loop) {
    return std::abs(step(loop)) <= beyond || step(loop) % sector_bytes == 0;
  });
}

// A chain that ends at a whole loop near its target is not prolonged by a part of the next.
bool long_enough(int64_t bytes, int64_t wanted) { return bytes >= wanted - wanted / 4; }

void grow_row(const UnitNest& nest, const SrcOrder& by_step, TileShape& shape, int64_t wanted) {
  const int* const order = by_step.loops;
  for (int i = 0; i < by_step.count && !long_enough(shape.row_bytes, wanted); ++i) {
    const Loop& loop = nest.loops[order[i]];
    const int64_t step = std::abs(loop.src_step);
    if (step > dense_step && step > 2 * shape.row_bytes) break;
    const bool sectors =
        keeps_sectors(nest, step, [](const Loop& other) { return other.src_step; });
    const int64_t extent =
        even_piece(loop.extent, 1 + ceil_div(wanted - shape.row_bytes, step), step, sectors);
    shape.take[order[i]] = extent;
    shape.in_row[order[i]] = true;
    shape.row_order[shape.row_length++] = order[i];
    shape.row_bytes += (extent - 1) * step;
    if (extent < loop.extent) break;
  }
}

// Whether a run of so many bytes goes on with this loop. Of single units: where sectors are shared, or few
// are left out.
bool goes_on(const UnitNest& nest, const Loop& loop, const TileShape& shape) {
  const int64_t run = shape.run_bytes;
  return shape.stores == Stores::single
             ? loop.dst_step <= std::max<int64_t>(near_bytes(nest.unit), 2 * run)
             : loop.dst_step == run;
}

void grow_run(const UnitNest& nest, TileShape& shape, int64_t wanted) {
  for (int i = nest.depth; i-- > 0;) {
    const Loop& loop = nest.loops[i];
    const int64_t step = loop.dst_step;
    if (!goes_on(nest, loop, shape) || long_enough(shape.run_bytes, wanted)) break;
    const bool sectors =
        keeps_sectors(nest, step, [](const Loop& other) { return other.dst_step; });
    int64_t extent =
        even_piece(loop.extent, 1 + ceil_div(wanted - shape.run_bytes, step), step, sectors);
    if (shape.in_row[i]) {  // both chains must take the same part: the larger
      extent = std::max(extent, shape.take[i]);
      shape.row_bytes += (extent - shape.take[i]) * std::abs(loop.src_step);
    }
    shape.take[i] = extent;
    shape.in_run[i] = true;
    shape.run_order[shape.run_length++] = i;
    shape.run_units *= extent;
    shape.run_bytes += (extent - 1) * step;
    if (extent < loop.extent) break;
  }
}

// What a block has read once it may write several times: of the longest such loop up to 8 times,
// and more often what costs whole sectors for single units, or is little.
void add_repeats(const UnitNest& nest, TileShape& shape, int64_t enough_bytes) {
  shape.repeat = -1;
  for (int i = 0; i < nest.depth; ++i) {
    const Loop& loop = nest.loops[i];
    const bool longest = shape.repeat < 0 || loop.extent > nest.loops[shape.repeat].extent;
    if (loop.src_step == 0 && !shape.in_run[i] && longest) shape.repeat = i;
  }
  if (shape.repeat < 0) return;
  const int64_t extent = nest.loops[shape.repeat].extent;
  const int64_t least = shape.row_bytes >= 2 * sector_bytes ? 8 : 32;
  // Where few begin alike, more of them pay for what is gathered.
  const int64_t apart = repeats_apart(shape.stores, nest.loops[shape.repeat].dst_step);
  const int64_t bytes =
      shape.stores == Stores::words && apart > 1 ? 6 * enough_bytes : enough_bytes;
  const int64_t most_repeats = std::max(least, bytes / (shape.units * nest.unit));
  shape.take[shape.repeat] = ceil_div(extent, ceil_div(extent, most_repeats));
}

}  // namespace

int64_t repeats_apart(Stores stores, int64_t step) {
  constexpr int64_t never =
      1 << 30;  // vectors are gathered for each, which is no slower than by 16 in turn
  if (stores == Stores::words) return 4 / std::gcd(int64_t{4}, step);
  return stores == Stores::vectors && step % vector_bytes != 0 ? never : 1;
}

SrcOrder::SrcOrder(const UnitNest& nest) {
  for (int i = nest.depth; i-- > 0;)
    if (nest.loops[i].src_step != 0) loops[count++] = i;
  std::stable_sort(loops, loops + count, [&](int a, int b) {
    return std::abs(nest.loops[a].src_step) < std::abs(nest.loops[b].src_step);
  });
}

TileShape grow_tile(const UnitNest& nest, const SrcOrder& order, int64_t run_bytes,
                    int64_t row_bytes, Stores stores, int64_t enough_bytes) {
  TileShape shape{};
  shape.stores = stores;
  std::fill_n(shape.take, nest.depth, 1);
  shape.run_units = 1;
  shape.row_bytes = shape.run_bytes = nest.unit;
  shape.stack = -1;
  grow_row(nest, order, shape, row_bytes);
  grow_run(nest, shape, run_bytes);
  shape.reach_bytes = shape.row_bytes;
  shape.units = 1;
  for (int i = 0; i < nest.depth; ++i) shape.units *= shape.take[i];
  add_repeats(nest, shape, enough_bytes);
  return shape;
}

bool stack_tiles(const UnitNest& nest, TileShape& shape, int64_t most_units) {
  // Loops that are cut must stay the outermost ones of their chains.
  const auto cut = [&](const int* order, int length) {
    return length > 0 && shape.take[order[length - 1]] < nest.loops[order[length - 1]].extent;
  };
  if (cut(shape.run_order, shape.run_length) || cut(shape.row_order, shape.row_length))
    return false;
  for (int i = nest.depth; i-- > 0;) {
    if (shape.in_run[i] || shape.in_row[i] || nest.loops[i].src_step == 0) continue;
    int64_t take = 8;
    while (take > 1 && (nest.loops[i].extent % take != 0 || shape.units * take > most_units))
      --take;
    if (take == 1) return false;
    shape.stack = i;
    shape.take[i] = take;
    shape.units *= take;
    return true;
  }
  return false;
}

bool demote_row_loop(const UnitNest& nest, TileShape& shape) {
  if (shape.row_length == 0) return false;
  const int outer = shape.row_order[shape.row_length - 1];
  if (!shape.in_run[outer]) return false;
  shape.in_row[outer] = false;
  --shape.row_length;
  shape.row_bytes -= (shape.take[outer] - 1) * std::abs(nest.loops[outer].src_step);
  return true;
}

}  // namespace infini::gpu
