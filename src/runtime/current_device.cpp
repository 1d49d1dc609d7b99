// The thread-local current device.
#include "runtime/current_device.h"

#include "runtime/registry.h"

namespace infini {
namespace {

constinit thread_local Device* current = nullptr;  // null: not chosen yet, CPU 0

}  // namespace

Device& current_device() {
  if (current == nullptr) current = &open_device(INFINI_DEVICE_CPU, 0);
  return *current;
}

void set_current_device(infiniDevice_t kind, int id) {
  Device& device = open_device(kind, id);
  device.make_current();
  current = &device;
}

}  // namespace infini
