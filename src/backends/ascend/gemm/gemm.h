// The gemm kernel of the Ascend backend.
#pragma once

#include "contract/backend.h"

namespace infini::ascend {

// Declines (null) what the matrix unit does not have: anything but f16, bf16 and f32.
std::unique_ptr<GemmKernel> make_gemm(infini::Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice& choice = {});

}  // namespace infini::ascend
