// Measuring something that moves bytes in turns with plain copies of as many.
#pragma once

#include "bench/measure.h"
#include "bench/results.h"

namespace infini::bench {

// Runs `ours` and every copy that the device has, in turns; fills the row's times, and its ratio to the best copy.
// `to` and `from` have half of row.bytes each.
void measure_beside_copies(Device& device, Body ours, char* to, const char* from, double seconds,
                           Row& row);

// Small enough to stay in a processor's caches, where lines of memory are nobody's limit.
bool stays_in_cache(const Device& device, int64_t bytes);

}  // namespace infini::bench
