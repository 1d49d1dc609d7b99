// From a tile's shape to its schedule. The second half of making one.
#pragma once

#include <optional>

#include "backends/gpu/tile_schedule.h"
#include "backends/gpu/tile_shape.h"

namespace infini::gpu {

// None when the schedule's arrays, the device's shared memory or the grid cannot hold it.
std::optional<TileSchedule> lay_out_tile(const UnitNest& nest, const TileShape& shape,
                                         const DeviceModel& model);

}  // namespace infini::gpu
