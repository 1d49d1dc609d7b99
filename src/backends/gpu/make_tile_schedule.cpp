// Making a tile schedule: try shapes, lay each out, keep the cheapest.
#include "backends/gpu/make_tile_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "backends/gpu/tile_layout.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

// Estimated time of a shape in multiples of the time that its bytes alone need.
double cost_of_shape(const UnitNest& nest, const TileShape& shape) {
  double waste = 1;
  for (int i = 0; i < nest.depth; ++i)
    waste *= static_cast<double>(ceil_div(nest.loops[i].extent, shape.take[i]) * shape.take[i]) /
             static_cast<double>(nest.loops[i].extent);
  const auto run = static_cast<double>(shape.run_units * nest.unit);
  const auto bytes = static_cast<double>(shape.units * nest.unit);
  return waste * (1 + 8 / static_cast<double>(shape.reach_bytes) + 8 / run + 1024 / bytes);
}

// What the way of gathering adds: accesses to shared memory beyond what hides behind the copies.
double cost_of_layout(const TileSchedule& s) {
  const double units = s.gather == Gather::columns ? 4 : 16.0 / s.unit;
  const double lanes = static_cast<double>(1 << s.row_lane_bits);
  const double vectors = std::ceil(s.row_bytes[0] / 16.0);
  const double per_row = std::ceil(vectors / lanes) * lanes / vectors;
  const double looked_up = s.gather == Gather::table ? 1 : 0;
  const double gathers = units * (bank_conflicts(s) + looked_up) + 4 + 4 * per_row;
  const double unaligned =
      s.gather < Gather::linear ? 8.0 / s.row_bytes[0] + 24.0 / (s.run_units[0] * s.unit) : 0;
  const double kind[] = {0.10, 0.05, 0.02, 0};
  return std::max(0.0, gathers * 0.015 - 0.2) + 0.05 * (per_row - 1) + unaligned +
         kind[static_cast<int>(s.gather)];
}

}  // namespace

int bank_conflicts(const TileSchedule& s) {
  constexpr int banks = 32, bank_bytes = 4;
  const int lanes = std::min(banks, banks * bank_bytes / std::max(s.unit, bank_bytes));
  const uint32_t runs =
      s.gather == Gather::columns ? static_cast<uint32_t>(bank_bytes / s.unit) : 1;
  const auto units = static_cast<uint32_t>(vector_bytes / s.unit);
  int32_t words[banks][banks], count[banks] = {};
  int worst = 1;
  for (int lane = 0; lane < lanes; ++lane) {
    const auto thread = static_cast<uint32_t>(lane);
    const ThreadPlace at =
        s.gather == Gather::table ? place_in_group(s, 0, thread) : place_thread(s, thread);
    const int32_t byte = position_image(s, at.vector * units, 0) +
                         static_cast<int32_t>(place_run(s, at.run * runs).image) + s.below[0];
    const int32_t word = byte / bank_bytes, bank = word & (banks - 1);
    if (std::find(words[bank], words[bank] + count[bank], word) != words[bank] + count[bank])
      continue;
    words[bank][count[bank]++] = word;
    worst = std::max(worst, count[bank]);
  }
  return worst;
}

std::optional<TileSchedule> make_tile_schedule(const UnitNest& nest, const DeviceModel& model) {
  std::optional<TileSchedule> best;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int64_t run = 32; run <= model.tile_bytes; run *= 2) {
    for (int64_t row = 32; row <= model.tile_bytes; row *= 2) {
      TileShape shape = grow_tile(nest, run, row);
      if (shape.units * nest.unit > model.tile_bytes * 5 / 4) continue;
      const double cost = cost_of_shape(nest, shape);
      if (cost >= best_cost) continue;
      do {
        const auto schedule = lay_out_tile(nest, shape, model);
        if (!schedule) continue;
        const double total = cost + cost_of_layout(*schedule);
        if (total >= best_cost) continue;
        best_cost = total;
        best = *schedule;
      } while (demote_row_loop(nest, shape));
    }
  }
  return best;
}

std::string to_string(const TileSchedule& s) {
  constexpr const char* gathers[] = {"by table", "at prepared offsets", "linearly", "by columns"};
  std::ostringstream text;
  text << s.tiles << " tiles of " << s.runs[0] << " runs x " << s.run_units[0] * s.unit
       << " B, gathered " << gathers[static_cast<int>(s.gather)] << " in units of " << s.unit
       << " B from " << s.rows[0] << " rows x " << s.row_bytes[0] << " B, " << s.shared_bytes
       << " B shared";
  return text.str();
}

}  // namespace infini::gpu
