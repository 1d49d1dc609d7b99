// NumPy's arrays by what its C interface promises to all who were compiled for it: the first fields of an array, and the
// table of functions. A tenth of what its Python face costs.
#pragma once

#include "array.h"

namespace infini::python {

// Reads an array of NumPy's class, if one with this dtype was learnt before; else false, and nothing is changed.
bool read_numpy_head(Array& array);
// After the array was read in another way: its dtype is known from now on. Where the head says something else than that way
// did, no head is read any more.
void learn_numpy_head(const Array& array);
// The dtype of anything that has one.
nb::object numpy_dtype(const Array& array);
// Whether arrays of its class and dtype are read so; then, where the elements of one are.
bool has_numpy_head(const Array& array);
void* numpy_data(nb::handle array);
// A new array, row-major and uninitialised.
nb::object new_numpy(nb::object dtype, const int64_t* shape, int rank);

}  // namespace infini::python
