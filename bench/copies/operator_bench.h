// Measuring one problem of an elementwise or row operator on the current device.
#pragma once

#include "bench/copies/rearrange_bench.h"

namespace infini::bench {

// In turns with the best copy of as many bytes.
Row measure_operator(const std::string& name, const std::string& problem, const Options& options);

}  // namespace infini::bench
