// infini.Tensor: tensors of our own.
#pragma once

#include "array.h"

namespace infini::python {

void bind_tensor(nb::module_& module);

// t[key] for whole numbers, slices with any step, ... and None.
PyTensor index(const PyTensor& tensor, nb::handle key);

}  // namespace infini::python
