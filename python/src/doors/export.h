// Handing tensors of our own to others: DLPack, the buffer protocol and NumPy.
#pragma once

#include "array.h"

namespace infini::python {

// The tensor for a consumer's C function, which releases it by its deleter.
dlpack::ManagedTensorVersioned* export_managed(const infinicore::Tensor& tensor);
// BufferError where DLPack has no name for it.
dlpack::Device dlpack_place(const infinicore::Device& device);
nb::object export_dlpack(const PyTensor& self, nb::object stream, nb::object max_version,
                         nb::object dl_device, nb::object copy);
nb::tuple dlpack_device(const PyTensor& self);
nb::object to_numpy(nb::handle self);

// For nanobind's class: the buffer protocol.
extern PyType_Slot buffer_slots[];

}  // namespace infini::python
