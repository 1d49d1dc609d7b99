// infinicore/ops/ones.hpp: y = 1, every element.
#pragma once

#include "../context/context.hpp"
#include "../graph/graph.hpp"

namespace infinicore::op {

// Any strides and any dtype.
INFINI_EXPORT void ones_(const Tensor& y);

}  // namespace infinicore::op
