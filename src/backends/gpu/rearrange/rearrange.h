// Rearrange on a GPU: candidates in order of preference.
#pragma once

#include <memory>

#include "contract/choice.h"
#include "contract/device.h"
#include "contract/kernels.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::gpu {

// For the backend's table.
std::unique_ptr<RearrangeKernel> make_rearrange(Device& device, const RearrangePlan& plan,
                                                const Choice& choice = {});

}  // namespace infini::gpu
