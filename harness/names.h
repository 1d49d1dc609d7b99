// Names that people write for element types and devices, besides those that the library has for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "infinicore.h"

namespace infini::harness {

// "f32", and also "float32", "float" and the like. INFINI_DTYPE_INVALID: no type's.
infiniDtype_t find_dtype(std::string_view name);
// Throws BAD_PARAM: what is like it, and which there are.
infiniDtype_t parse_dtype(std::string_view name);
// "f32: float32, float" for each type.
std::vector<std::string> dtype_lines();
std::vector<std::string> dtype_names();

// Throws BAD_PARAM for what is no kind of device; for "cuda" and the like says which one is meant.
infiniDevice_t parse_device_kind(std::string_view name);
std::vector<std::string> device_kind_names();

}  // namespace infini::harness
