// The CPU's backend table.
#pragma once

#include "contract/backend.h"

namespace infini::cpu {

extern const Backend backend;

std::unique_ptr<RearrangeKernel> make_rearrange(Device& device, const RearrangePlan& plan);

}  // namespace infini::cpu
