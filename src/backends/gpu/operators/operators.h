// Elementwise and row operators on a GPU.
#pragma once

#include <memory>

#include "contract/choice.h"
#include "contract/device.h"
#include "contract/kernels.h"

namespace infini::gpu {

// For the backend's table. Null for more elements than a launch can number.
std::unique_ptr<OperatorKernel> make_operator(Device& device, const OperatorPlan& plan,
                                              const Choice& choice);

}  // namespace infini::gpu
