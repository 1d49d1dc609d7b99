// Making piece schedules.
#pragma once

#include <optional>
#include <string>

#include "backends/gpu/pages/schedule.h"
#include "plan/rearrange/paged_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::gpu {

// The largest unit (up to 16 bytes) that every step of the plan allows.
int natural_unit(const RearrangePlan& plan);
// With units of so many bytes. Nothing where a piece has too many units or loops.
std::optional<PieceSchedule> make_piece_schedule(const RearrangePlan& plan, int unit);
PieceSide make_piece_side(const PagedSide& side, const void* ids);

std::string to_string(const PieceSchedule& schedule);

}  // namespace infini::gpu
