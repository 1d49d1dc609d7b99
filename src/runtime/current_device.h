// The calling thread's current device: it starts as CPU 0.
#pragma once

#include "base/export.h"
#include "contract/device.h"

namespace infini {

INFINI_TOOL_EXPORT Device& current_device();
// Opens the device if need be and makes it current; a failure leaves the current device as it was.
void set_current_device(infiniDevice_t kind, int id);

}  // namespace infini
