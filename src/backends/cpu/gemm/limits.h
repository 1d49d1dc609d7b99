// What the processor's fastest instructions do on data in registers or in the first cache: the facts of arithmetic
// are measured by these, and the benchmark's limits.
#pragma once

#include "base/export.h"

namespace infini::cpu {

// Each runs on one thread for some tenths of a millisecond, and gives its multiply-adds.
INFINI_TOOL_EXPORT double run_f32_tiles();
INFINI_TOOL_EXPORT double run_f64_tiles();
#if defined(__x86_64__)
INFINI_TOOL_EXPORT double run_pairs();        // of bf16, where has_dpbf16()
INFINI_TOOL_EXPORT double run_matrix_unit();  // where amx_works()
#endif

}  // namespace infini::cpu
