// From arrays to tensors of the library, over the same memory.
#pragma once

#include <utility>

#include "doors/array.h"

namespace infini::python {

// Whether the tensor keeps the array's object alive (recordings, from_array), or the caller does.
enum class Hold { caller, tensor };

// The array as a tensor of its own type. Its strides must count whole elements, see can_convert.
infinicore::Tensor to_tensor(const Array& array, Hold hold);
bool can_convert(const Array& array);

// Both as tensors that can be copied to each other, whatever their elements are: those without a
// name, and steps that are no multiple of an element, become words with one more dim.
std::pair<infinicore::Tensor, infinicore::Tensor> to_words(const Array& dst, const Array& src,
                                                           Hold hold);

}  // namespace infini::python
