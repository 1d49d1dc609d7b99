// Which candidate is cheapest for a product on a processor that need not be there: pure, without kernels or libraries.
#pragma once

#include <span>

#include "backends/cpu/gemm/target.h"

namespace infini::cpu {

struct GemmCost {
  const char* name;
  // As the candidate bids; infinite: it cannot.
  double (*nanoseconds)(const GemmTarget&, const GemmPlan&, double limit);
};
// Those of our own kernels, in the order in which they are asked.
std::span<const GemmCost> gemm_costs();

// `plan` with its batch folded.
const char* cheapest_gemm(const GemmTarget& target, const GemmPlan& plan);

}  // namespace infini::cpu
