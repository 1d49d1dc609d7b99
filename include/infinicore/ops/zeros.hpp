// infinicore/ops/zeros.hpp: y = 0, every element.
#pragma once

#include "../context/context.hpp"
#include "../graph/graph.hpp"

namespace infinicore::op {

// Any strides and any dtype.
INFINI_EXPORT void zeros_(const Tensor& y);

}  // namespace infinicore::op
