// Conversions between element types, on arrays of any origin.
#pragma once

#include "doors/array.h"
#include "gil.h"

namespace infini::python {

// round(scale*x + shift)
struct Conversion {
  double scale = 1, shift = 0;
  bool saturate = false;
};
void run_conversion(const Array& dst, const Array& src, const Conversion& conversion, void* stream,
                    Gil gil);

}  // namespace infini::python
