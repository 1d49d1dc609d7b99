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
// Processors move lines of 64 bytes, GPUs a line's sectors.
int64_t moved_line_bytes(const Device& device);

// What runs before every turn and does not count. A processor takes up to a millisecond to switch between narrow and wide
// registers; the peers, each measured alone, have that behind them. And what the last cache may hold is there when a
// turn begins, though somebody that goes past the caches had the turn before.
double settling_seconds(const Device& device, int64_t bytes);

}  // namespace infini::bench
