// Names: element types, devices and shapes, as Python writes them.
#pragma once

#include <string>
#include <vector>

#include "doors/array.h"

namespace infini::python {

// "f32", "float32", "f4", numpy.float32, torch.float32, ... Names that mean one type to infini and
// another to NumPy ("i8") are refused, unless they come from Tensor.dtype.
infinicore::DataType parse_dtype(nb::handle object);
// What Tensor.dtype is: a string that parse_dtype knows to be infini's.
nb::object name_of(infinicore::DataType dtype);
// "cpu", "nvidia:0"; "cuda" is another name of nvidia.
infinicore::Device parse_device(nb::handle object);
// A whole number or a sequence of them; in arguments also one after another, as in permute(1, 0).
std::vector<int64_t> parse_numbers(nb::handle object, const char* name);
std::vector<int64_t> parse_numbers(const nb::args& arguments, const char* name);
infinicore::Shape parse_shape(nb::handle object);
// Dims may count from the end.
infinicore::Shape parse_order(std::vector<int64_t> dims, int64_t rank);
size_t parse_dim(int64_t dim, int64_t rank);

// Who is called CUDA in DLPack on this machine: MetaX and Iluvatar bring PyTorch under that name,
// too.
infinicore::Device::Type cuda_type();

nb::tuple to_tuple(const int64_t* numbers, int count);
// Null where the buffer protocol has no name for it.
const char* buffer_format(infinicore::DataType dtype);

}  // namespace infini::python
