// Errors: what the library throws, and what is found wrong here, as Python exceptions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <sstream>
#include <string>

#include "infinicore/error.hpp"

namespace infini::python {

// Both become infini's exceptions: TypeErrors and ValueErrors that are infini.Errors, too.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(infiniStatus_t status, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw infinicore::Error(status, text.str());
}
template <class... Parts>
[[noreturn]] void fail_type(const Parts&... parts) {
  fail(INFINI_STATUS_BAD_TENSOR_DTYPE, parts...);
}
template <class... Parts>
[[noreturn]] void fail_value(const Parts&... parts) {
  fail(INFINI_STATUS_BAD_PARAM, parts...);
}

// "numpy.ndarray"
std::string class_name(nanobind::handle object);

void bind_errors(nanobind::module_& module);

}  // namespace infini::python
