// How many processors this process may keep busy: its affinity, and what its control groups grant it.
#pragma once

#include <optional>
#include <string>

namespace infini {

// Those on which the calling thread may run, no more than granted; at least 1. Found out once.
int usable_processors() noexcept;

// The processors' worth of time that the least generous control group (version 1 or 2) of this process has in every
// period, from the files below `root` ("" but for tests). Nothing where there is no limit.
std::optional<double> granted_processors(const std::string& root);

// The first of a list of numbers, as in OMP_NUM_THREADS; nothing where it is no number of threads. Those beyond the most
// that we know count as that many.
std::optional<int> parse_thread_count(const char* text);

}  // namespace infini
