// Copies and products that were made before: found by their layouts and run through the C API, with
// no tensor in between. Prepared once for each problem and thread.
#pragma once

#include "doors/array.h"
#include "gil.h"

namespace infini::python {

// Copies src to dst, both on one device, src broadcast to dst; the elements are equal in kind.
void run_prepared_copy(const Array& dst, const Array& src, void* stream, Gil gil = Gil::held);

// The elements of src, of NumPy's on the CPU with a known head, in a new array of NumPy's: what a small array's copy takes is
// mostly looking things up, and here it is one layout.
nb::object run_prepared_numpy_copy(const Array& src);

// c = alpha·a·b + beta·c on one device, with shapes as NumPy's matmul has them. False, and nothing
// done, where it is not as simple as one product of matrices or of one batch of them, a larger
// workspace is needed, or something does not fit, which the long way then says.
bool run_prepared_gemm(const Array& c, const Array& a, const Array& b, double alpha, double beta,
                       void* stream, Gil gil = Gil::held);

}  // namespace infini::python
