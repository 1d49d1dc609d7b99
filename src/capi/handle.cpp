// infiniop/handle.h and infiniop/operator_descriptor.h.
#include "capi/boundary.h"
#include "capi/objects.h"
#include "runtime/current_device.h"
#include "runtime/registry.h"

using namespace infini;

namespace {

Handles& handles() {
  static constinit Lazy<Handles> all;
  return all.get();
}

infiniopHandle_t create_handle(Device& device) {
  return handles().create(
      [&](InfiniopHandle& head) {
        head.device = device.kind();
        head.device_id = device.id();
      },
      HandleBody{&device});
}

// The device of a live operator. A destroyed one has tag 0; which operator it is does not matter here.
std::pair<infiniDevice_t, int> device_of_operator(const InfiniopDescriptor* desc) {
  if (!could_be_handle(desc, alignof(InfiniopDescriptor*))) fail_handle(desc, "desc");
  const Pin pin(desc, Lives::long_);
  if (desc->tag.load(std::memory_order_acquire) == 0 ||
      desc->family.load(std::memory_order_relaxed) != operator_family)
    fail_handle(desc, "desc");
  return {desc->device, desc->device_id};
}

}  // namespace

infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle) {
  return at_boundary([&] {
    require_out(handle, "handle");
    *handle = create_handle(current_device());
  });
}

infiniStatus_t infiniopCreateHandleForDevice(infiniopHandle_t* handle, infiniDevice_t device,
                                             int device_id) {
  return at_boundary([&] {
    require_out(handle, "handle");
    *handle = create_handle(open_device(device, device_id));
  });
}

infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle) {
  return destroy_unless_null(handle, [&] { handles().destroy(handle, "handle"); });
}

infiniStatus_t infiniopGetDescriptorDeviceType(const InfiniopDescriptor* desc,
                                               infiniDevice_t* device) {
  return at_boundary([&] {
    require_pointer(device, "device");
    *device = device_of_operator(desc).first;
  });
}

infiniStatus_t infiniopGetDescriptorDeviceId(const InfiniopDescriptor* desc, int* device_id) {
  return at_boundary([&] {
    require_pointer(device_id, "device_id");
    *device_id = device_of_operator(desc).second;
  });
}
