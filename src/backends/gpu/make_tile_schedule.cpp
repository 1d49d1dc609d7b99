// Making a tile schedule: try shapes, lay each out, keep the cheapest.
#include "backends/gpu/make_tile_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "backends/gpu/tile_cost.h"
#include "backends/gpu/tile_layout.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

// Different targets often lead to the same shape.
bool same_shape(const UnitNest& nest, const TileShape& a, const TileShape& b) {
  return std::equal(a.take, a.take + nest.depth, b.take) &&
         std::equal(a.in_row, a.in_row + nest.depth, b.in_row) &&
         std::equal(a.in_run, a.in_run + nest.depth, b.in_run);
}

void consider(const UnitNest& nest, const TileShape& shape, const DeviceModel& model,
              std::optional<TileSchedule>& best, double& best_cost) {
  const auto schedule = lay_out_tile(nest, shape, model);
  if (!schedule) return;
  const double cost = cost_of_tiles(*schedule, nest);
  if (cost >= best_cost) return;
  best_cost = cost;
  best = schedule;
}

}  // namespace

std::optional<TileSchedule> make_tile_schedule(const UnitNest& nest, const DeviceModel& model) {
  std::optional<TileSchedule> best;
  std::vector<TileShape> seen;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int64_t run = 32; run <= model.tile_bytes; run *= 2) {
    for (int64_t row = 32; row <= model.tile_bytes; row *= 2) {
      TileShape shape = grow_tile(nest, run, row);
      if (shape.units * nest.unit > model.tile_bytes * 5 / 4) continue;
      if (std::any_of(seen.begin(), seen.end(),
                      [&](const TileShape& other) { return same_shape(nest, shape, other); }))
        continue;
      seen.push_back(shape);
      do {
        TileShape stacked = shape;
        consider(nest, shape, model, best, best_cost);
        if (stack_tiles(nest, stacked, model.tile_bytes * 5 / 4 / nest.unit))
          consider(nest, stacked, model, best, best_cost);
      } while (demote_row_loop(nest, shape));
    }
  }
  return best;
}

std::string to_string(const TileSchedule& s) {
  constexpr const char* gathers[] = {"vector by vector", "at prepared offsets", "linearly",
                                     "by columns"};
  std::ostringstream text;
  text << s.tiles << " tiles of " << s.runs[0] << " runs x " << s.run_units[0] * s.unit
       << " B, gathered " << gathers[static_cast<int>(s.gather)] << " in units of " << s.unit
       << " B from " << s.rows[0] << " rows x " << s.row_bytes[0] << " B, " << s.shared_bytes
       << " B shared";
  if (s.repeats[0] > 1) text << ", each written " << s.repeats[0] << " times";
  return text.str();
}

}  // namespace infini::gpu
