// How long a fill takes: the longer of what memory moves and of the instructions counted in the machine code.
#pragma once

#include "backends/gpu/model/device_model.h"
#include "backends/gpu/rearrange/fill/schedule.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::gpu {

double fill_ns(const FillSchedule& schedule, const RearrangePlan& plan, const DeviceModel& device);

}  // namespace infini::gpu
