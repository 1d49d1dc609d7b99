// A place: a device together with its memory pools. One per device, made on demand, never
// destroyed.
#pragma once

#include <vector>

#include "contract/device.h"
#include "runtime/memory_pool.h"

namespace infini {

struct Place {
  explicit Place(Device& device);

  Device& device;
  MemoryPool memory;
  MemoryPool pinned;  // host memory that this device copies to and from faster
};

// Opens the device if need be; throws as open_device does.
Place& place_of(infiniDevice_t kind, int id);
// All that have been made so far.
std::vector<Place*> all_places();

}  // namespace infini
