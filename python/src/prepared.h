// Copies that were made before: found by their layouts and run through the C API, with no tensor in between.
#pragma once

#include "array.h"

namespace infini::python {

// Copies src to dst, both on one device, src broadcast to dst; the elements are equal in kind. Prepared
// once for each pair of layouts and thread.
void run_prepared_copy(const Array& dst, const Array& src, void* stream);

}  // namespace infini::python
