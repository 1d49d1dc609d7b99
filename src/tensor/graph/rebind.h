// Giving the steps of a graph other tensors.
#pragma once

#include <utility>
#include <vector>

#include "tensor/graph/step.h"

namespace infinicore::detail {

// See graph::Graph::rebind; on a failure nothing has changed. Returns the operands that the steps had.
std::vector<std::vector<Tensor>> rebind(const std::vector<Step*>& steps,
                                        const std::vector<std::pair<Tensor, Tensor>>& changes);

}  // namespace infinicore::detail
