// Making staged schedules.
#pragma once

#include <optional>
#include <string>

#include "backends/gpu/pages/staged_schedule.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::gpu {

// Nothing where pieces have no box that helps: both sides move in whole words already, or it would be too large.
// other_steps: all steps beside the plan's, or'ed; vectors must divide them, too.
std::optional<StagedSchedule> make_staged_schedule(const RearrangePlan& plan, uint64_t other_steps);
// The alignment that both sides' first elements must have.
int alignment_of(const StagedSchedule& schedule);

std::string to_string(const StagedSchedule& schedule);

}  // namespace infini::gpu
