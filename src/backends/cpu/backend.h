// The CPU's backend table.
#pragma once

#include "contract/backend.h"

namespace infini::cpu {

extern const Backend backend;

std::unique_ptr<RearrangeKernel> make_rearrange(Device& device, const RearrangePlan& plan);
std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options);

}  // namespace infini::cpu
