// infinicore::context: the calling thread's device, streams and events; copies and memory.
#include "infinicore/context/context.hpp"

#include "runtime/current_device.h"
#include "runtime/registry.h"
#include "tensor/access.h"
#include "tensor/edge.h"
#include "tensor/thread_state.h"

namespace infinicore::context {
namespace {

infini::Device& current() {
  infini::Device& device = infini::current_device();
  device.make_current();
  return device;
}

infini::Place& current_place() {
  const infini::Device& device = infini::current_device();
  return infini::place_of(device.kind(), device.id());
}

void copy(void* dst, const void* src, std::size_t bytes, infinirtMemcpyKind_t kind, bool async) {
  if (bytes == 0) return;
  infini::require_pointer(dst, "dst");
  infini::require_pointer(src, "src");
  infinirtStream_t stream = getStream();
  infini::Device& device = current();
  device.copy_async(dst, src, bytes, kind, stream);
  if (!async) device.synchronize_stream(stream);
}

// The accelerator for which host memory is pinned: the current device, else the first there is.
infini::Place* accelerator() {
  if (infini::current_device().kind() != INFINI_DEVICE_CPU) return &current_place();
  for (int kind = INFINI_DEVICE_CPU + 1; kind < INFINI_DEVICE_TYPE_COUNT; ++kind)
    if (infini::device_count(static_cast<infiniDevice_t>(kind)) > 0)
      return &infini::place_of(static_cast<infiniDevice_t>(kind), 0);
  return nullptr;
}

}  // namespace

void setDevice(const Device& device) {
  return detail::at_edge([&] {
    const infini::Device& opened = detail::place_of(device).device;
    infini::set_current_device(opened.kind(), opened.id());
  });
}

Device getDevice() {
  return detail::at_edge([&]() -> Device {
    const infini::Device& device = infini::current_device();
    return {static_cast<Device::Type>(device.kind()), static_cast<Device::Index>(device.id())};
  });
}

std::size_t getDeviceCount(Device::Type type) {
  return static_cast<std::size_t>(infini::device_count(static_cast<infiniDevice_t>(type)));
}

infinirtStream_t getStream() {
  return detail::at_edge([&] { return detail::this_thread().stream(current_place()); });
}

void setStream(infinirtStream_t stream) {
  return detail::at_edge([&] { detail::this_thread().set_stream(current_place(), stream); });
}

infinirtStream_t getStream(const Device& device) {
  return detail::at_edge([&] { return detail::this_thread().stream(detail::place_of(device)); });
}

void setStream(const Device& device, infinirtStream_t stream) {
  return detail::at_edge(
      [&] { detail::this_thread().set_stream(detail::place_of(device), stream); });
}

void syncStream() {
  infinirtStream_t stream = getStream();
  current().synchronize_stream(stream);
}

void syncDevice() { current().synchronize(); }

std::shared_ptr<Memory> allocateMemory(std::size_t bytes) {
  return detail::at_edge([&] { return detail::allocate(current_place(), bytes); });
}

std::shared_ptr<Memory> allocateHostMemory(std::size_t bytes) {
  return detail::at_edge([&] { return detail::allocate(detail::place_of(Device::cpu()), bytes); });
}

std::shared_ptr<Memory> allocatePinnedHostMemory(std::size_t bytes) {
  return detail::at_edge([&] {
    infini::Place* device = accelerator();
    if (device == nullptr) return allocateHostMemory(bytes);
    return std::make_shared<Memory>(detail::place_of(Device::cpu()), device->pinned,
                                    bytes > 0 ? bytes : 1, detail::this_thread().stream(*device));
  });
}

void memcpyH2D(void* dst, const void* src, std::size_t bytes, bool async) {
  copy(dst, src, bytes, INFINIRT_MEMCPY_H2D, async);
}

void memcpyD2H(void* dst, const void* src, std::size_t bytes) {
  copy(dst, src, bytes, INFINIRT_MEMCPY_D2H, false);
}

void memcpyD2D(void* dst, const void* src, std::size_t bytes, bool async) {
  copy(dst, src, bytes, INFINIRT_MEMCPY_D2D, async);
}

void memcpyH2H(void* dst, const void* src, std::size_t bytes) {
  copy(dst, src, bytes, INFINIRT_MEMCPY_H2H, false);
}

void setDeviceMemory(void* p, int value, std::size_t bytes) {
  setDeviceMemoryAsync(p, value, bytes, getStream());
  syncStream();
}

void setDeviceMemoryAsync(void* p, int value, std::size_t bytes, infinirtStream_t stream) {
  if (bytes == 0) return;
  infini::require_pointer(p, "p");
  current().set_async(p, value, bytes, stream);
}

infinirtEvent_t createEvent() { return createEventWithFlags(INFINIRT_EVENT_DEFAULT); }

infinirtEvent_t createEventWithFlags(std::uint32_t flags) {
  return detail::at_edge([&] { return current().create_event(flags); });
}

void recordEvent(infinirtEvent_t event, infinirtStream_t stream) {
  return detail::at_edge([&] { current().record_event(event, stream ? stream : getStream()); });
}

bool queryEvent(infinirtEvent_t event) { return current().event_complete(event); }

void synchronizeEvent(infinirtEvent_t event) { current().synchronize_event(event); }

void destroyEvent(infinirtEvent_t event) { current().destroy_event(event); }

float elapsedTime(infinirtEvent_t start, infinirtEvent_t end) {
  return current().elapsed_milliseconds(start, end);
}

void streamWaitEvent(infinirtStream_t stream, infinirtEvent_t event) {
  current().stream_wait_event(stream, event);
}

}  // namespace infinicore::context
