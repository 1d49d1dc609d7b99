// Making a fill schedule: pure host code.
#pragma once

#include <optional>
#include <string>

#include "backends/gpu/rearrange/fill/schedule.h"
#include "backends/gpu/rearrange/unit_nest.h"

namespace infini::gpu {

// None unless dst's innermost loop writes one unit of src, of up to 8 bytes, side by side for at least a vector.
std::optional<FillSchedule> make_fill_schedule(const UnitNest& nest);

std::string to_string(const FillSchedule& schedule);

}  // namespace infini::gpu
