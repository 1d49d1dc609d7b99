// infini's operators as XLA calls them, on the buffers of a compiled program: for infini.jax.
#pragma once

#include <nanobind/nanobind.h>

namespace infini::python {

void bind_xla(nanobind::module_& module);

}  // namespace infini::python
