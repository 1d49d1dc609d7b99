// Elements of host memory as numbers, whatever their type.
#pragma once

#include "infinicore/scalar.hpp"

namespace infinicore::detail {

Scalar read_element(const std::byte* from, DataType dtype);
// Floats are rounded once, to nearest even; whole numbers outside the type's range are refused.
void write_element(std::byte* to, DataType dtype, const Scalar& value);

}  // namespace infinicore::detail
