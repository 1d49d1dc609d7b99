// infinicore/ops/linear.hpp: y = x·weightᵀ + bias, a layer of a network.
#pragma once

#include <optional>

#include "../context/context.hpp"
#include "../graph/graph.hpp"

namespace infinicore::op {

// x: [..., in], weight: [out, in], bias: [out] or none.
INFINI_EXPORT Tensor linear(const Tensor& x, const Tensor& weight,
                            std::optional<Tensor> bias = std::nullopt);
INFINI_EXPORT void linear_(const Tensor& y, const Tensor& x, const Tensor& weight,
                           std::optional<Tensor> bias = std::nullopt);

}  // namespace infinicore::op
