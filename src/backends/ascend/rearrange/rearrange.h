// The rearrange kernel of the Ascend backend.
#pragma once

#include <memory>

#include "contract/choice.h"
#include "contract/kernels.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {
class Device;
}

namespace infini::ascend {

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device& device, const RearrangePlan& plan,
                                                const Choice& choice = {});

}  // namespace infini::ascend
