// What a block of a transposition costs, in the same model as a tile: by it the two are compared.
#pragma once

#include "backends/gpu/rearrange/tile/cost.h"
#include "backends/gpu/rearrange/transpose/schedule.h"

namespace infini::gpu {

// Of the first threads' accesses, a mean over some units of their vectors.
double bank_conflicts(const TransposeSchedule& schedule);

BlockWork work_of(const TransposeSchedule& schedule, const RearrangeCosts& costs);
double cost_of_transpose(const TransposeSchedule& schedule, const UnitNest& nest,
                         const DeviceModel& device);

// Of the whole launch.
double transpose_ns(const TransposeSchedule& schedule, const UnitNest& nest,
                    const DeviceModel& device);

}  // namespace infini::gpu
