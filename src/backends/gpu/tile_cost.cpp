// What a tile costs.
#include "backends/gpu/tile_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/gpu/tile_layout.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

// One processor of an H200: what it reads and writes at the speed of a plain copy, what it issues.
// Other chips have other numbers, but much the same proportions.
constexpr double bytes_per_cycle = 17.7, issues_per_cycle = 3.2;
constexpr double most_blocks = 6, shared_bytes_in_all = 220 * 1024, tile_latency = 3000;
constexpr double processors = 132;

double warps(double threads) { return std::ceil(threads / 32); }

// Instructions for one vector of a thread.
double gather_instructions(const TileSchedule& s) {
  const double units = vector_bytes / s.unit, per_unit = s.unit < 4 ? 3 : 2;
  switch (s.gather) {
    case Gather::each:
      return units * (per_unit + 9) + 90;
    case Gather::prepared:
    case Gather::linear:
      return units * per_unit + 25;
    case Gather::columns:
      break;
  }
  return 40;
}

struct Rounds {
  double vectors;  // of each thread
  double threads;  // that work
};

Rounds store_rounds(const TileSchedule& s) {
  const auto vectors = static_cast<double>(run_vectors(s));
  const double columns = s.gather == Gather::columns ? 4.0 / s.unit : 1;
  if (s.gather == Gather::each)
    return {std::ceil(vectors * s.runs[0] / tile_threads), tile_threads};
  const double lanes = s.lanes.divisor;
  return {std::ceil(vectors / lanes) * std::ceil(s.runs[0] / columns / s.run_threads) * columns,
          lanes * s.run_threads};
}

// Instructions of a block that are not the store walk's: mostly the load walk's, for rows and for
// vectors.
double instructions(const TileSchedule& s) {
  const double lanes = s.row_lanes[!s.rows_even].divisor, threads = tile_threads;
  const double rows = std::ceil(s.rows[0] / std::floor(threads / lanes));
  const double vectors =
      std::ceil((s.row_bytes[0] + vector_bytes - s.unit) / (lanes * vector_bytes));
  const double loads = warps(threads) * rows * (30 + 12 * s.row_depth + 12 * vectors);
  const double table =
      s.gather <= Gather::prepared ? warps(s.table_units) * (25 + 15 * s.run_depth) : 0;
  return loads + table + warps(threads) * (200 + 15 * s.grid_depth);
}

// Bytes that come and go. Rows that begin anywhere are read in whole sectors, runs that end
// anywhere are written in partial ones, and every place that a row or run is looked for costs some
// more: tiles of 64 and 128 bytes' width were 0.15 and 0.04 slower than those of 256.
double moved(const TileSchedule& s) {
  constexpr double place = 18;
  const bool sectors = s.rows_even && s.row_bytes[0] % sector_bytes == 0;
  double row = s.row_bytes[0] + (sectors ? 0 : 0.75 * sector_bytes) + place;
  if (s.row_depth > 0)
    row = std::min(row, std::abs(static_cast<double>(s.row[0].step)));  // side by side
  const double run = s.run_units[0] * s.unit + (runs_aligned(s) ? 0 : 16) + place;
  return row * s.rows[0] + run * s.runs[0] * s.repeats[0];
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
    const ThreadPlace at = place_thread(s, static_cast<uint32_t>(lane));
    const int32_t byte =
        position_image(s, at.vector * units) + place_run(s, at.run * runs).image + s.below[0];
    const int32_t word = byte / bank_bytes, bank = word & (banks - 1);
    if (std::find(words[bank], words[bank] + count[bank], word) != words[bank] + count[bank])
      continue;
    words[bank][count[bank]++] = word;
    worst = std::max(worst, count[bank]);
  }
  return worst;
}

double store_cycles(const TileSchedule& s) {
  const Rounds rounds = store_rounds(s);
  const double units = s.gather == Gather::columns ? 4 : vector_bytes / s.unit;
  // A warp with a partial vector goes both ways, and stores word by word.
  const double both = (s.unit == 1 ? 18.0 : 12.0) * vector_bytes / s.unit;
  const double partial =
      runs_aligned(s) ? 0 : std::min(1.0, 48.0 / static_cast<double>(run_vectors(s))) * both;
  const double once = s.gather == Gather::prepared ? 4.0 * vector_bytes / s.unit + 30 : 0;
  const double per_vector = gather_instructions(s) + partial + 4 * s.repeats[0];
  const double busy = warps(rounds.threads);
  const double issued = busy * (rounds.vectors * per_vector + once) / issues_per_cycle;
  const double shared = busy * rounds.vectors * units * bank_conflicts(s) * std::max(1, s.unit / 4);
  const double waiting = rounds.vectors * (300 + 20 * units) / most_blocks;
  return std::max({issued, 1.1 * shared, waiting}) + 0.1 * (std::min(issued, shared) + waiting);
}

double cost_of_tiles(const TileSchedule& s, const UnitNest& nest) {
  const double tile = static_cast<double>(s.run_units[0]) * s.runs[0] * s.repeats[0] * s.unit;
  return cost_of_blocks({tile, moved(s), store_cycles(s) * issues_per_cycle + instructions(s),
                         static_cast<double>(s.shared_bytes), static_cast<double>(s.tiles)},
                        nest);
}

double cost_of_blocks(const BlockWork& work, const UnitNest& nest) {
  double bytes = nest.unit;
  for (int i = 0; i < nest.depth; ++i) bytes *= static_cast<double>(nest.loops[i].extent);
  const double filled =
      bytes / (work.tile_bytes * work.blocks);  // the rest lies beyond loops' ends
  const double resident = std::min(most_blocks, shared_bytes_in_all / (work.shared_bytes + 1024));
  const double memory = work.moved_bytes / bytes_per_cycle * filled;
  const double busy = work.instructions / issues_per_cycle;
  const double cycles = std::max({memory, busy, tile_latency / resident}) + 0.15 * (memory + busy);
  const double turns = std::max(1.0, work.blocks / processors);
  return cycles * (turns + 0.5 * std::min(resident, turns)) / turns / (work.tile_bytes * filled);
}

}  // namespace infini::gpu
