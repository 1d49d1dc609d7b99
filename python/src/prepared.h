// Copies and products that were made before: found by their layouts and run through the C API, with
// no tensor in between. Prepared once for each problem and thread.
#pragma once

#include "doors/array.h"

namespace infini::python {

// Copies src to dst, both on one device, src broadcast to dst; the elements are equal in kind.
void run_prepared_copy(const Array& dst, const Array& src, void* stream);

// c = alpha·a·b + beta·c for matrices on one device. False, and nothing done, where it is not as
// simple as that: a larger workspace is needed, or something does not fit, which the long way then
// says.
bool run_prepared_gemm(const Array& c, const Array& a, const Array& b, double alpha, double beta,
                       void* stream);

}  // namespace infini::python
