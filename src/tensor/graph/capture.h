// Capturing steps into a graph of the device's own.
#pragma once

#include <vector>

#include "tensor/graph/step.h"

namespace infinicore::detail {

// The device's graph of these steps, which run side by side where they may (see lanes.h). Nothing
// runs. All steps are at this device, which is current, and can be captured.
void* capture_steps(infini::Device& device, const std::vector<const Step*>& steps);

}  // namespace infinicore::detail
