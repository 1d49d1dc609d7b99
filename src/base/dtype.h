// The table of element types: number, name and size.
#pragma once

#include <cstdint>
#include <string_view>

#include "infinicore.h"

namespace infini {

constexpr int dtype_count = 20;

// 0 for INVALID and for numbers outside the table.
int64_t dtype_bytes(infiniDtype_t dtype);
// "f16", "bf16", ...; "invalid" outside the table.
const char* dtype_name(infiniDtype_t dtype);
// INFINI_DTYPE_INVALID when no type has this name.
infiniDtype_t dtype_from_name(std::string_view name);

}  // namespace infini
