// Making transpose schedules.
#pragma once

#include <optional>
#include <string>

#include "backends/gpu/rearrange/tile/shape.h"
#include "backends/gpu/rearrange/transpose/schedule.h"

namespace infini::gpu {

// None when dst's runs or src's rows are short, or when they need the same loop. bases_aligned:
// both sides' first elements will lie at multiples of 16 bytes.
std::optional<TransposeSchedule> make_transpose_schedule(const UnitNest& nest,
                                                         const TileBudget& model,
                                                         bool bases_aligned);

std::string to_string(const TransposeSchedule& schedule);

}  // namespace infini::gpu
