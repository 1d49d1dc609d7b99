// Reshard plans in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace infini::python {

void bind_reshard(nanobind::module_& module);

}  // namespace infini::python
