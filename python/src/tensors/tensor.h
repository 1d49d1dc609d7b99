// infini.Tensor: tensors of our own.
#pragma once

#include "doors/array.h"

namespace infini::python {

void bind_tensor(nb::module_& module);
// What its elements are as Python's values.
void bind_values(nb::class_<PyTensor>& tensor);

// Over x's own memory; a copy when `device` (or None) is another one.
PyTensor from_array(nb::handle x, nb::object device);
// t[key] for whole numbers, slices with any step, ... and None.
PyTensor index(const PyTensor& tensor, nb::handle key);

}  // namespace infini::python
