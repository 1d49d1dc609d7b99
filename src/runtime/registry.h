// The registry: which backends this process has, and their devices, each opened once and on demand.
#pragma once

#include <string>

#include "contract/backend.h"

namespace infini {

// Null when there is no backend for this kind; `why` (may be null) then says in words why.
const Backend* find_backend(infiniDevice_t kind, std::string* why = nullptr);

// 0 when there is none; `why` (may be null) then says why.
int device_count(infiniDevice_t kind, std::string* why = nullptr);

// Throws DEVICE_TYPE_NOT_SUPPORTED (no backend) or DEVICE_NOT_FOUND (no such device).
Device& open_device(infiniDevice_t kind, int id);

}  // namespace infini
