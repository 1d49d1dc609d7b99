// Filling tensors and copying them between devices.
#pragma once

#include "infinicore/tensor.hpp"

namespace infinicore::detail {

// Records or runs; the tensor is contiguous.
void fill_with_zero_bytes(const Tensor& tensor);
// One element of this value; there at once, also while recording.
Tensor scalar_tensor(const Scalar& value, DataType dtype, const Device& device);
// A view of src in this shape, with stride 0 where it repeats; throws when NumPy's rule forbids it.
Tensor broadcast_to(const Tensor& src, const Shape& shape);

}  // namespace infinicore::detail
