// Making a tile schedule: try shapes, lay each out, keep the cheapest.
#include "backends/gpu/rearrange/tile/make_schedule.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace infini::gpu {
namespace {

// Different targets often lead to the same shape.
bool same_shape(const UnitNest& nest, const TileShape& a, const TileShape& b) {
  return std::equal(a.take, a.take + nest.depth, b.take) &&
         std::equal(a.in_row, a.in_row + nest.depth, b.in_row) &&
         std::equal(a.in_run, a.in_run + nest.depth, b.in_run);
}

// Bytes of dst that lie together.
int64_t longest_run(const UnitNest& nest) {
  int64_t run = nest.unit;
  for (int i = nest.depth; i-- > 0 && nest.loops[i].dst_step == run;) run *= nest.loops[i].extent;
  return run;
}

}  // namespace

bool can_store(const UnitNest& nest, Stores stores) {
  constexpr int64_t short_run = 256;  // that vectors are not worth the while of, perhaps
  const int64_t run = longest_run(nest);
  if (stores != Stores::single)
    return run > nest.unit && (stores == Stores::vectors || nest.unit <= 4);
  return run < short_run && nest.depth > 0 &&
         nest.loops[nest.depth - 1].dst_step <= near_bytes(nest.unit);
}

BestTile make_tile_schedule(const UnitNest& nest, const TileBudget& model, Stores stores) {
  BestTile best;
  if (!can_store(nest, stores)) return best;
  // The usual sizes first: the better the best so far, the fewer layouts of others are looked at.
  constexpr int64_t targets[] = {512, 256, 1024, 128, 2048, 64, 4096, 32, 8192, 16384, 32768};
  std::vector<TileShape> seen;
  const SrcOrder order(nest);
  constexpr int64_t enough_bytes = 16384;  // for a block to write of what it has read once
  const int64_t most_bytes = int64_t{model.tile_bytes} * 5 / 4;
  for (const int64_t run : targets) {
    for (const int64_t row : targets) {
      TileShape shape = grow_tile(nest, order, run, row, stores, enough_bytes);
      if (shape.units * nest.unit > most_bytes) continue;
      if (std::any_of(seen.begin(), seen.end(),
                      [&](const TileShape& other) { return same_shape(nest, shape, other); }))
        continue;
      seen.push_back(shape);
      do {
        TileShape stacked = shape;
        lay_out_tile(nest, shape, model, best);
        if (stack_tiles(nest, stacked, most_bytes / nest.unit))
          lay_out_tile(nest, stacked, model, best);
      } while (demote_row_loop(nest, shape));
    }
  }
  return best;
}

std::string to_string(const TileSchedule& s) {
  constexpr const char* gathers[] = {"vector by vector", "at prepared offsets", "linearly",
                                     "by columns",       "one by one",          "and shifted",
                                     "by words"};
  std::ostringstream text;
  text << s.tiles << " tiles of " << s.runs[0] << " runs x " << s.run_units[0] * s.unit
       << " B, gathered " << gathers[static_cast<int>(s.gather)] << " in units of " << s.unit
       << " B from " << s.rows[0] << " rows x " << s.row_bytes[0] << " B, " << s.shared_bytes
       << " B shared";
  if (s.repeats[0] > 1) text << ", each written " << s.repeats[0] << " times";
  return text.str();
}

}  // namespace infini::gpu
