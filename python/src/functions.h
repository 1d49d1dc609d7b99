// The functions on arrays, which the methods of Tensor share.
#pragma once

#include "array.h"

namespace infini::python {

// dst[...] = src, broadcast as NumPy does; errors call dst by `name`.
void copy_arrays(const Array& dst, const Array& src, const Call& call, const char* name = "dst");
nb::object copy(nb::object dst, nb::handle src);
nb::object matmul(nb::handle a, nb::handle b, nb::object out, double alpha, double beta);

void bind_functions(nb::module_& module);

}  // namespace infini::python
