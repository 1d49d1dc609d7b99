// Convert on the CPU.
#pragma once

#include <memory>

#include "contract/choice.h"
#include "contract/device.h"
#include "contract/kernels.h"
#include "plan/operators/operator_plan.h"

namespace infini::cpu {

std::unique_ptr<OperatorKernel> make_convert(infini::Device& device, const OperatorPlan& plan,
                                             const Choice& choice);

}  // namespace infini::cpu
