// Measuring one rearrange problem on the current device.
#pragma once

#include "bench/results.h"

namespace infini::bench {

struct Options {
  double seconds = 0.3;  // measuring time of one case, both sides together
  bool verify = true;    // compare with the naive reference first (up to 256 MB of dst)
  bool scaling = false;  // on the CPU, also on one thread
};

// Ours and the copy in turns, so that both see the same machine; the medians count.
Row measure_rearrange(const std::string& name, const std::string& problem, const Options& options);

}  // namespace infini::bench
