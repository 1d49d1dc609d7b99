// infinicore/ops/matmul.hpp: matrix products over any number of batch dims, as in NumPy.
#pragma once

#include "../context/context.hpp"
#include "../tensor.hpp"

namespace infinicore::op {

// alpha·a·b for a [...,m,k] and b [...,k,n]; the leading dims are broadcast against each other.
INFINI_EXPORT Tensor matmul(const Tensor& a, const Tensor& b, double alpha = 1.0);
// c = alpha·a·b + beta·c for c [...,m,n]. With beta == 0 c is not read. c must not overlap itself, a
// or b: such a product is refused and nothing is written.
INFINI_EXPORT void matmul_(const Tensor& c, const Tensor& a, const Tensor& b, double alpha = 1.0,
                           double beta = 0.0);

}  // namespace infinicore::op
