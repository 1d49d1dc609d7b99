// The CPU's backend table.
#pragma once

#include "contract/backend.h"

namespace infini::cpu {

extern const Backend backend;

std::unique_ptr<RearrangeKernel> make_rearrange(Device& device, const RearrangePlan& plan,
                                                const Choice& choice);
void run_rearrange_batch(const RearrangeKernel* const* kernels, size_t layouts, size_t count,
                         void* const* dst, const void* const* src, void* stream);
std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice& choice);

std::unique_ptr<OperatorKernel> make_operator(Device& device, const OperatorPlan& plan,
                                              const Choice& choice);

}  // namespace infini::cpu
