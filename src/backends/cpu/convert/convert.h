// Convert on the CPU.
#pragma once

#include <memory>

#include "contract/choice.h"
#include "contract/device.h"
#include "contract/kernels.h"
#include "plan/operators/operator_plan.h"

namespace infini::cpu {

struct Setting;  // see rearrange/cost.h

// The name of the candidate that bids least on a machine that need not be this one; nothing is made.
const char* cheapest_convert_name(const Setting& setting, const OperatorPlan& plan);

std::unique_ptr<OperatorKernel> make_convert(infini::Device& device, const OperatorPlan& plan,
                                             const Choice& choice);

}  // namespace infini::cpu
