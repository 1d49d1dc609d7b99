// The table of device kinds: number and name. The name is also the backend module's:
// libinfini-<name>.so.
#pragma once

#include <string_view>

#include "infinicore.h"

namespace infini {

bool is_device_kind(infiniDevice_t kind);
// "cpu", "nvidia", ...; "unknown" outside the table.
const char* device_kind_name(infiniDevice_t kind);
// INFINI_DEVICE_TYPE_COUNT when no kind has this name.
infiniDevice_t device_kind_from_name(std::string_view name);

}  // namespace infini
