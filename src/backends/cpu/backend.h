// The CPU's backend table.
#pragma once

#include "contract/backend.h"

namespace infini::cpu {

extern const Backend backend;

std::unique_ptr<RearrangeKernel> make_rearrange(Device& device, const RearrangePlan& plan,
                                                const Choice& choice);
std::unique_ptr<BatchKernel> make_rearrange_batch(Device& device, const BatchParts& parts);
std::unique_ptr<PagedKernel> make_rearrange_paged(Device& device, const PagedPlan& plan);
std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice& choice);

std::unique_ptr<OperatorKernel> make_operator(Device& device, const OperatorPlan& plan,
                                              const Choice& choice);

}  // namespace infini::cpu
