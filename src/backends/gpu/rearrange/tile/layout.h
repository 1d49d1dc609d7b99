// From a tile's shape to its schedule. The second half of making one.
#pragma once

#include <limits>
#include <optional>

#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/tile/shape.h"

namespace infini::gpu {

// The cheapest schedule that was found so far.
struct BestTile {
  std::optional<TileSchedule> schedule;
  double cost = std::numeric_limits<double>::infinity();
};

// Keeps the best way to lay the shape out if it is cheaper than `best`; there is none when the
// schedule's arrays, the device's shared memory or the grid cannot hold it.
void lay_out_tile(const UnitNest& nest, const TileShape& shape, const TileBudget& model,
                  BestTile& best);

// Every address of dst's runs is a multiple of the vector when the base is.
bool runs_aligned(const TileSchedule& schedule);

// Vectors of dst that a run touches at most.
int64_t run_vectors(const TileSchedule& schedule);

}  // namespace infini::gpu
