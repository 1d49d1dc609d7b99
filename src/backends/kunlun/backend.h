// The operators that the Kunlun backend offers.
#pragma once

#include "backends/kunlun/rearrange/schedule.h"
#include "backends/kunlun/runtime/device.h"
#include "contract/backend.h"

namespace infini::kunlun {

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device& device, const RearrangePlan& plan,
                                                const Choice& choice = {});
// The kernel of one given schedule, chosen or not.
std::unique_ptr<RearrangeKernel> make_rearrange(const Schedule& schedule);
std::unique_ptr<GemmKernel> make_gemm(infini::Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice& choice = {});
std::unique_ptr<OperatorKernel> make_operator(infini::Device& device, const OperatorPlan& plan,
                                              const Choice& choice = {});

}  // namespace infini::kunlun
