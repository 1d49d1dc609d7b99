// Making tile schedules: pure host code.
#pragma once

#include <string>

#include "backends/gpu/rearrange/tile/layout.h"

namespace infini::gpu {

// The schedule of the cheapest tile for this nest; none when no tile fits the device, or when there
// are more tiles than a grid holds.
BestTile make_tile_schedule(const UnitNest& nest, const TileBudget& model,
                            Stores stores = Stores::vectors);

// Whether runs can be written so: vectors want neighbours that touch in dst, single units such that
// share sectors, in runs that are short.
bool can_store(const UnitNest& nest, Stores stores);

// For people: "tile of 64 runs × 256 B from 64 rows × 256 B, ..."
std::string to_string(const TileSchedule& schedule);

}  // namespace infini::gpu
