// The cost model of rearrange on the CPU: a handful of numbers about the machine, and the policy that
// follows from them. Plain data: `infini plan` prints it.
#pragma once

#include <cstdint>
#include <string>

#include "backends/cpu/rearrange/schedule.h"

namespace infini::cpu {

struct Costs {
  int64_t l2_bytes = 1 << 20;
  // Stores go to so many pages in turns before they miss the TLB.
  int64_t store_pages = 1024;
  // The size of a thread's output from which on streaming stores beat ordinary ones.
  int64_t streamed_bytes = 512 << 10;
  // Two lines side by side are stored in little more time than one of lines that lie pages apart.
  bool pairs = false;
  double region_ns = 5000;   // to open a parallel region and close it again
  double bytes_per_ns = 27;  // that one thread writes while it copies in L2
  bool measured = false;     // or derived from the size of L2
};

Costs costs_from_cache(int64_t l2_bytes);
// This process's: from the size of its L2, or with INFINI_TUNE=1 measured when first asked for.
const Costs& costs();

// What follows from them: how many bytes are worth a thread, when to stream, and the sizes of tiles.
Policy policy_from(const Costs& costs, int threads);

std::string to_string(const Costs& costs);

}  // namespace infini::cpu
