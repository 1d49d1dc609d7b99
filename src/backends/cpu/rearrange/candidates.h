// Which candidate takes a plan on a machine that need not be this one.
#pragma once

#include "backends/cpu/rearrange/cost.h"

namespace infini::cpu {

// What this process decides by.
Setting current_setting();

// The name of the candidate that bids least; nothing is made.
const char* cheapest_name(const Setting& setting, const RearrangePlan& plan);
// And how long it takes.
double cheapest_ns(const Setting& setting, const RearrangePlan& plan);

}  // namespace infini::cpu
