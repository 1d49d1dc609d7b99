// The registry: which backends this process has, and their devices, each opened once and on demand.
#pragma once

#include <string>
#include <vector>

#include "base/export.h"
#include "contract/backend.h"

namespace infini {

// Null when there is no backend for this kind; `why` (may be null) then says in words why.
INFINI_TOOL_EXPORT const Backend* find_backend(infiniDevice_t kind, std::string* why = nullptr);

// 0 when there is none; `why` (may be null) then says why.
INFINI_TOOL_EXPORT int device_count(infiniDevice_t kind, std::string* why = nullptr);

// Throws DEVICE_TYPE_NOT_SUPPORTED (no backend) or DEVICE_NOT_FOUND (no such device).
INFINI_TOOL_EXPORT Device& open_device(infiniDevice_t kind, int id);

// What the library found in its environment and did not understand (base/environment.h).
INFINI_TOOL_EXPORT std::vector<std::string> library_complaints();

}  // namespace infini
