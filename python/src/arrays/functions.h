// The functions on arrays, which the methods of Tensor share.
#pragma once

#include "doors/array.h"
#include "doors/convert.h"

namespace infini::python {

// dst[...] = src, broadcast as NumPy does; errors call dst by `name`.
void copy_arrays(const Array& dst, const Array& src, const Call& call, const char* name = "dst");
void require_shape(const Array& out, const int64_t* shape, int rank);
// An operand of an operator. Elements that lie at fractions of their size are packed first; no
// kernel could read them.
infinicore::Tensor packed(const Array& array, const char* name, Hold hold);
// The same of a product, which has at least one dim.
infinicore::Tensor operand(const Array& array, const char* name, Hold hold);
nb::object copy(nb::object dst, nb::handle src);
nb::object matmul(nb::handle a, nb::handle b, nb::object out, double alpha, double beta);

// The same between elements of different types.
void copy_converted(const Array& dst, const Array& src, const Call& call);

void bind_functions(nb::module_& module);
void bind_pages(nb::module_& module);
void bind_converting(nb::module_& module);
void bind_files(nb::module_& module);
void bind_patterns(nb::module_& module);
void bind_operators(nb::module_& module);

}  // namespace infini::python
