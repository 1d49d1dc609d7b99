// infinicore/context/context.hpp: devices, streams, memory, events and recording of this thread.
//
// Operators follow their tensors' device, never the current device: that one only serves the
// functions here that have no device argument, and the C API.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "../../infiniop/handle.h"
#include "../../infinirt.h"
#include "../device.hpp"
#include "../error.hpp"
#include "../graph/graph.hpp"
#include "../memory.hpp"

namespace infinicore::context {

// --- devices and streams ---
// The calling thread's current device, shared with infinirtSetDevice; CPU 0 at first.
INFINI_EXPORT void setDevice(const Device& device);
INFINI_EXPORT Device getDevice();
// 0 for kinds that are not here.
INFINI_EXPORT std::size_t getDeviceCount(Device::Type type);
// The stream that this thread's operators use on its current device: the device's default stream
// (nullptr) unless setStream gave another.
INFINI_EXPORT infinirtStream_t getStream();
INFINI_EXPORT void setStream(infinirtStream_t stream);
// The same on any device, whichever is current.
INFINI_EXPORT infinirtStream_t getStream(const Device& device);
INFINI_EXPORT void setStream(const Device& device, infinirtStream_t stream);
// A handle of the C API for the current device, or for any; it is there for all threads and as long as the
// process.
infiniopHandle_t getInfiniopHandle();
infiniopHandle_t getInfiniopHandle(const Device& device);
INFINI_EXPORT void syncStream();
INFINI_EXPORT void syncDevice();

// --- memory ---
// From the current device's pool; allocateHostMemory from the CPU's.
INFINI_EXPORT std::shared_ptr<Memory> allocateMemory(std::size_t bytes);
INFINI_EXPORT std::shared_ptr<Memory> allocateHostMemory(std::size_t bytes);
INFINI_EXPORT std::shared_ptr<Memory> allocatePinnedHostMemory(std::size_t bytes);
// What a device's pool holds and has done.
struct MemoryStats {
  std::size_t in_use_bytes = 0;  // held by tensors, graphs and workspaces
  std::size_t cached_bytes = 0;  // idle in the pool
  std::size_t peak_in_use_bytes = 0;
  std::size_t peak_reserved_bytes = 0;  // of in_use + cached
  std::uint64_t allocations = 0;        // requests
  std::uint64_t reuses = 0;             // of them, those that the pool could answer itself
  std::uint64_t releases = 0;           // blocks given back to the device
};
struct MemoryLimits {                         // What a device's pool may hold.
  std::size_t max_reserved_bytes = SIZE_MAX;  // more is an error, after idle memory was given back
  std::size_t max_cached_bytes = SIZE_MAX;    // more idle memory goes back to the device
};
INFINI_EXPORT MemoryStats memoryStats(const Device& device);    // of its pool
INFINI_EXPORT MemoryLimits memoryLimits(const Device& device);  // of its pool
INFINI_EXPORT void setMemoryLimits(const Device& device, const MemoryLimits& limits);
// Gives the idle memory of the device (all devices in use) back; returns the number of bytes.
INFINI_EXPORT std::size_t trimMemory(const Device& device);
INFINI_EXPORT std::size_t trimMemory();

// On the current device. Asynchronous copies are ordered on getStream().
INFINI_EXPORT void memcpyH2D(void* dst, const void* src, std::size_t bytes, bool async = true);
INFINI_EXPORT void memcpyD2H(void* dst, const void* src, std::size_t bytes);
INFINI_EXPORT void memcpyD2D(void* dst, const void* src, std::size_t bytes, bool async = true);
INFINI_EXPORT void memcpyH2H(void* dst, const void* src, std::size_t bytes);
INFINI_EXPORT void setDeviceMemory(void* p, int value, std::size_t bytes);
INFINI_EXPORT void setDeviceMemoryAsync(void* p, int value, std::size_t bytes,
                                        infinirtStream_t stream);

// --- events of the current device ---
INFINI_EXPORT infinirtEvent_t createEvent();
INFINI_EXPORT infinirtEvent_t createEventWithFlags(std::uint32_t flags);
INFINI_EXPORT void recordEvent(infinirtEvent_t event, infinirtStream_t stream = nullptr);
INFINI_EXPORT bool queryEvent(infinirtEvent_t event);  // true once it is complete
INFINI_EXPORT void synchronizeEvent(infinirtEvent_t event);
INFINI_EXPORT void destroyEvent(infinirtEvent_t event);
INFINI_EXPORT float elapsedTime(infinirtEvent_t start, infinirtEvent_t end);  // in milliseconds
INFINI_EXPORT void streamWaitEvent(infinirtStream_t stream, infinirtEvent_t event);

// --- recording, see graph.hpp ---
// Of the calling thread. Starting twice, and stopping or cancelling what was not started, are errors. A
// recording that a thread leaves behind is dropped at its end.
INFINI_EXPORT bool isGraphRecording();
INFINI_EXPORT void startGraphRecording();
INFINI_EXPORT void addGraphOperator(std::shared_ptr<graph::GraphOperator> op);
// Ends the recording also when no graph can be made of it.
INFINI_EXPORT std::shared_ptr<graph::Graph> stopGraphRecording();
INFINI_EXPORT void cancelGraphRecording();

// A recording that ends with its scope: what leaves it by an exception, or without stop(), was not
// recorded, and the thread runs its operators again.
//
//   context::GraphRecording recording;
//   Tensor y = op::gemm(x, w);
//   auto graph = recording.stop();
class INFINI_EXPORT GraphRecording {
 public:
  GraphRecording();
  ~GraphRecording();
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;
  // To be called once, by the thread that made it.
  std::shared_ptr<graph::Graph> stop();

 private:
  std::uint64_t number_;
};

// --- the cache of prepared operators
// ----------------------------------------------------------------- Each thread keeps the operators
// it used last, per operator and device.
struct OpCacheStats {
  std::uint64_t hits = 0, misses = 0, evictions = 0;
  std::size_t entries = 0;
};
// Of the calling thread, over all operators and devices.
INFINI_EXPORT OpCacheStats opCacheStats();
// For every thread, per operator and device: 100 at first, 0 turns the cache off.
INFINI_EXPORT void setOpCacheCapacity(std::size_t capacity);
INFINI_EXPORT std::size_t opCacheCapacity();
// Forgets the calling thread's prepared operators and counters.
INFINI_EXPORT void clearOpCache();

// Inline, because the library's C++ side does not know the C side's objects. Without a lock, so that a
// child of fork() finds none locked, and never destroyed, so that static destructors may use it.
inline infiniopHandle_t getInfiniopHandle(const Device& device) {
  struct Known {
    Device device;
    infiniopHandle_t handle;
    const Known* next;
  };
  static std::atomic<const Known*> all{nullptr};
  for (const Known* known = all.load(std::memory_order_acquire); known; known = known->next)
    if (known->device == device) return known->handle;
  infiniopHandle_t handle = nullptr;
  const infiniStatus_t status = infiniopCreateHandleForDevice(
      &handle, static_cast<infiniDevice_t>(device.getType()), static_cast<int>(device.getIndex()));
  if (status != INFINI_STATUS_SUCCESS) throw Error(status, infiniGetLastErrorString());
  auto* known = new (std::nothrow) Known{device, handle, all.load(std::memory_order_relaxed)};
  if (known == nullptr) {
    infiniopDestroyHandle(handle);
    throw Error(INFINI_STATUS_OUT_OF_MEMORY, "out of host memory");
  }
  while (!all.compare_exchange_weak(known->next, known, std::memory_order_acq_rel)) {
  }
  return handle;
}

inline infiniopHandle_t getInfiniopHandle() { return getInfiniopHandle(getDevice()); }

}  // namespace infinicore::context
