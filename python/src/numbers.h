// Elements as Python's numbers, and back.
#pragma once

#include "doors/array.h"

namespace infini::python {

// The element at `element`, which lies in host memory: bool, int, float or complex.
nb::object to_number(const std::byte* element, infinicore::DataType dtype);
// Rounds to nearest even; throws for what is no number of that kind, and for whole numbers that do
// not fit.
void from_number(std::byte* element, infinicore::DataType dtype, nb::handle value);
// A tensor in host memory as lists of lists of numbers; without dims a number.
nb::object to_list(const infinicore::Tensor& host);

}  // namespace infini::python
