// infiniop/handle.h and infiniop/operator_descriptor.h.
#include "capi/boundary.h"
#include "capi/objects.h"
#include "runtime/current_device.h"
#include "runtime/registry.h"

using namespace infini;

namespace {

Handles& handles() {
  static auto* all = new Handles;
  return *all;
}

infiniopHandle_t create_handle(Device& device) {
  return handles().create(
      [&](InfiniopHandle& head) {
        head.device = device.kind();
        head.device_id = device.id();
      },
      HandleBody{&device});
}

// A destroyed descriptor has tag 0; what kind of operator it is does not matter here.
const InfiniopDescriptor& live(const InfiniopDescriptor* desc) {
  require_pointer(desc, "desc");
  require(desc->tag.load(std::memory_order_acquire) != 0, INFINI_STATUS_BAD_PARAM, "desc (",
          static_cast<const void*>(desc), ") has been destroyed");
  return *desc;
}

}  // namespace

infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle) {
  return at_boundary([&] {
    require_pointer(handle, "handle");
    *handle = create_handle(current_device());
  });
}

infiniStatus_t infiniopCreateHandleForDevice(infiniopHandle_t* handle, infiniDevice_t device,
                                             int device_id) {
  return at_boundary([&] {
    require_pointer(handle, "handle");
    *handle = create_handle(open_device(device, device_id));
  });
}

infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle) {
  return at_boundary([&] { handles().destroy(handle, "handle"); });
}

infiniStatus_t infiniopGetDescriptorDeviceType(const InfiniopDescriptor* desc,
                                               infiniDevice_t* device) {
  return at_boundary([&] {
    require_pointer(device, "device");
    *device = live(desc).device;
  });
}

infiniStatus_t infiniopGetDescriptorDeviceId(const InfiniopDescriptor* desc, int* device_id) {
  return at_boundary([&] {
    require_pointer(device_id, "device_id");
    *device_id = live(desc).device_id;
  });
}
