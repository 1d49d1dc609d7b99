// From a tile's shape to its schedule. The second half of making one.
#pragma once

#include <optional>

#include "backends/gpu/tile_schedule.h"
#include "backends/gpu/tile_shape.h"

namespace infini::gpu {

// None when the schedule's arrays, the device's shared memory or the grid cannot hold it.
std::optional<TileSchedule> lay_out_tile(const UnitNest& nest, const TileShape& shape,
                                         const DeviceModel& model);

// Every address of dst's runs is a multiple of the vector when the base is.
bool runs_aligned(const TileSchedule& schedule);

// Vectors of dst that a run touches at most.
int64_t run_vectors(const TileSchedule& schedule);

}  // namespace infini::gpu
