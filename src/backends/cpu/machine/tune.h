// Measuring what cache sizes only suggest, when INFINI_TUNE=1 asks for it.
#pragma once

#include "backends/cpu/machine/costs.h"

namespace infini::cpu {

// Each cost measured, or as guessed where that cannot be. Streaming is looked for between a quarter of
// the guess and eight times it. Takes some tens of milliseconds.
Costs measure_costs(const Costs& guess);

// Whether INFINI_TUNE=1 was set when the process first asked.
bool tuning_wanted();

}  // namespace infini::cpu
