// Prepared operators in words, for people: the plan, what moves, the chosen candidate and its schedule.
#pragma once

#include <string>

#include "base/export.h"
#include "ops/gemm.h"
#include "ops/rearrange.h"

namespace infini {

// Several lines, without a newline at the end.
INFINI_TOOL_EXPORT std::string explain(const Rearrange& op);
INFINI_TOOL_EXPORT std::string explain(const Gemm& op);

}  // namespace infini
