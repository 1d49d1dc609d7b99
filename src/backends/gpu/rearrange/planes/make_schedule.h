// Making planes schedules.
#pragma once

#include <optional>
#include <string>

#include "backends/gpu/rearrange/planes/schedule.h"
#include "backends/gpu/rearrange/unit_nest.h"

namespace infini::gpu {

// None unless the nest splits or joins 2 to 4 planes of at least `least_bytes` in units of 1, 2 or 4
// bytes, with all other steps multiples of 16 bytes. Both sides' first elements must lie at such too.
std::optional<PlanesSchedule> make_planes_schedule(const UnitNest& nest, int64_t least_bytes);

std::string to_string(const PlanesSchedule& schedule);

}  // namespace infini::gpu
