// Plans as small pictures: which axes there are, how far apart their elements lie on each side, and in which runs
// memory is read and written. In 80 columns.
#pragma once

#include <cstdint>
#include <string>

#include "base/export.h"
#include "plan/gemm/gemm_plan.h"
#include "plan/operators/operator_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// Bytes that lie together on one side: the atom, or all of an axis whose atoms do.
struct Runs {
  int64_t dst = 0, src = 0;
};
Runs runs_of(const RearrangePlan& plan);

// Several lines, each ended.
std::string picture_of(const RearrangePlan& plan);
std::string picture_of(const GemmPlan& plan);
std::string picture_of(const OperatorPlan& plan);

// What of an operand is read or written, each byte once.
int64_t operand_bytes(const OperatorPlan& plan, int operand);

// "24 bytes", "2 KiB", "1.5 GiB".
INFINI_TOOL_EXPORT std::string bytes_text(int64_t bytes);
// "350 ns", "12 us", "3.1 ms".
INFINI_TOOL_EXPORT std::string time_text(double seconds);

}  // namespace infini
