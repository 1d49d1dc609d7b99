// `infini bench pages` and `infini bench transfer`.
#pragma once

#include <optional>

#include "bench/copies/rearrange_bench.h"
#include "tools/arguments.h"
#include "tools/report/report.h"

namespace infini::tools {

// The exit status; nothing where neither is asked for. With `peer` PyTorch's copies follow.
std::optional<int> bench_copies(Arguments& arguments, const bench::Options& options,
                                const ReportFile& file, bool peer);

}  // namespace infini::tools
