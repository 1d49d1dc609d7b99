// infinicore/device_event.hpp: an event of a device: for waiting, and for measuring time.
#pragma once

#include <cstdint>

#include "../infinirt.h"
#include "device.hpp"

namespace infinicore {

// Owns its event; may be moved. One thread at a time.
class INFINI_EXPORT DeviceEvent {
 public:
  // Of the current device, with infinirtEventFlags_t.
  DeviceEvent();
  explicit DeviceEvent(std::uint32_t flags);
  explicit DeviceEvent(Device device);
  DeviceEvent(Device device, std::uint32_t flags);
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  DeviceEvent(DeviceEvent&& other) noexcept;
  DeviceEvent& operator=(DeviceEvent&& other) noexcept;

  // On this thread's stream of the device, or on another one of it.
  void record();
  void record(infinirtStream_t stream);
  void synchronize();
  // Whether all that was recorded before it is done.
  bool query() const;
  // Milliseconds from this one to a later one. Both must be recorded, of one device.
  float elapsed_time(const DeviceEvent& other) const;
  // Makes a stream wait (nullptr: this thread's), of this device or of another.
  void wait(infinirtStream_t stream = nullptr) const;
  void wait_on(Device stream_device, infinirtStream_t stream = nullptr) const;

  // Whose it is.
  Device device() const { return device_; }
  // The event of the C API, which stays this object's.
  infinirtEvent_t get() const { return event_; }
  // Whether record() was called.
  bool is_recorded() const { return is_recorded_; }

 private:
  Device device_;
  infinirtEvent_t event_ = nullptr;
  bool is_recorded_ = false;
};

}  // namespace infinicore
