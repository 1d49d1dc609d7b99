// Batches and paged copies on a GPU: one launch for all copies.
#pragma once

#include <memory>

#include "contract/backend.h"

namespace infini::gpu {

// Null: declined, some piece has too many loops or units.
std::unique_ptr<BatchKernel> make_rearrange_batch(Device& device, const BatchParts& parts);
std::unique_ptr<PagedKernel> make_rearrange_paged(Device& device, const PagedPlan& plan);

}  // namespace infini::gpu
