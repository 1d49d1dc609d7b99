// Schedules of plans that write the same block of dst again and again: the first from src, all others from there.
#pragma once

#include <functional>
#include <optional>

#include "backends/cpu/rearrange/schedule.h"

namespace infini::cpu {

// Law: the points of the first part and of the second one, with dst on both sides, are the plan's.
struct RepeatedSchedule {
  int loop = 0;  // of the plan: it reads the same in every iteration
  RepeatedPlans parts;
};

// Null when no loop around others repeats what they write without a gap.
std::optional<RepeatedSchedule> make_repeated_schedule(const RearrangePlan& plan);

// Of two kernels for the parts.
std::unique_ptr<RearrangeKernel> make_repeated(const RearrangePlan& plan,
                                               std::unique_ptr<RearrangeKernel> once,
                                               std::unique_ptr<RearrangeKernel> again);

}  // namespace infini::cpu
