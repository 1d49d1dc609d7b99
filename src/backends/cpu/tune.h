// Measuring what cache sizes only suggest, when INFINI_TUNE=1 asks for it.
#pragma once

#include <cstdint>

namespace infini::cpu {

// The smallest output, in bytes, for which streaming stores beat ordinary ones on this machine; between
// a quarter of `guess` and eight times it, `guess` itself where nothing can be measured. Takes a few
// tens of milliseconds.
int64_t measure_streamed_bytes(int64_t guess);

// Whether INFINI_TUNE=1 was set when the process first asked.
bool tuning_wanted();

}  // namespace infini::cpu
