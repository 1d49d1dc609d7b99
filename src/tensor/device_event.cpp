// Events that belong to a device.
#include "infinicore/device_event.hpp"

#include <utility>

#include "base/error.h"
#include "infinicore/context/context.hpp"
#include "tensor/edge.h"

namespace infinicore {
namespace {

// While it lives, a device is the thread's current one.
class Current {
 public:
  explicit Current(const Device& device) : before_(context::getDevice()) {
    if (device != before_) context::setDevice(device);
    changed_ = device != before_;
  }
  ~Current() {
    if (changed_) try {
        context::setDevice(before_);
      } catch (...) {  // it was current before
      }
  }
  Current(const Current&) = delete;

 private:
  Device before_;
  bool changed_ = false;
};

}  // namespace

DeviceEvent::DeviceEvent() : DeviceEvent(context::getDevice()) {}
DeviceEvent::DeviceEvent(std::uint32_t flags) : DeviceEvent(context::getDevice(), flags) {}
DeviceEvent::DeviceEvent(Device device) : DeviceEvent(device, INFINIRT_EVENT_DEFAULT) {}
DeviceEvent::DeviceEvent(Device device, std::uint32_t flags) : device_(device) {
  const Current current(device);
  event_ = context::createEventWithFlags(flags);
}
DeviceEvent::~DeviceEvent() {
  if (event_ == nullptr) return;
  try {
    const Current current(device_);
    context::destroyEvent(event_);
  } catch (...) {  // a destructor has nobody to tell
  }
}
DeviceEvent::DeviceEvent(DeviceEvent&& other) noexcept
    : device_(other.device_),
      event_(std::exchange(other.event_, nullptr)),
      is_recorded_(std::exchange(other.is_recorded_, false)) {}
DeviceEvent& DeviceEvent::operator=(DeviceEvent&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  std::swap(is_recorded_, other.is_recorded_);
  return *this;
}

void DeviceEvent::record() { record(context::getStream(device_)); }
void DeviceEvent::record(infinirtStream_t stream) {
  const Current current(device_);
  context::recordEvent(event_, stream);
  is_recorded_ = true;
}
void DeviceEvent::synchronize() {
  const Current current(device_);
  context::synchronizeEvent(event_);
}
bool DeviceEvent::query() const {
  const Current current(device_);
  return context::queryEvent(event_);
}
float DeviceEvent::elapsed_time(const DeviceEvent& other) const {
  infini::require(is_recorded_ && other.is_recorded_, INFINI_STATUS_BAD_PARAM,
                  "elapsed_time: ", is_recorded_ ? "the other event" : "this event",
                  " was not recorded");
  infini::require(device_ == other.device_, INFINI_STATUS_BAD_PARAM,
                  "elapsed_time: one event is on ", device_.toString(), ", the other on ",
                  other.device_.toString());
  const Current current(device_);
  return context::elapsedTime(event_, other.event_);
}
void DeviceEvent::wait(infinirtStream_t stream) const { wait_on(device_, stream); }
void DeviceEvent::wait_on(Device stream_device, infinirtStream_t stream) const {
  if (stream == nullptr) stream = context::getStream(stream_device);
  const Current current(stream_device);
  context::streamWaitEvent(stream, event_);
}

}  // namespace infinicore
