// Convert on the CPU.
#pragma once

#include <memory>

#include "contract/device.h"
#include "contract/kernels.h"

namespace infini::cpu {

std::unique_ptr<OperatorKernel> make_convert(infini::Device& device, const OperatorPlan& plan);

}  // namespace infini::cpu
