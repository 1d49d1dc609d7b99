// The XPU runtime behind the device interface.
#include "backends/kunlun/runtime/device.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "backends/kunlun/rearrange/kernels.h"
#include "backends/kunlun/runtime/device_memory.h"
#include "backends/kunlun/runtime/runtime_error.h"

namespace infini::kunlun {
namespace {

#if __has_include("xpu_emulator.h")
constexpr const char* suffix = " (emulated)";
#else
constexpr const char* suffix = "";
#endif

uint64_t attribute(XPUDeviceAttr which, int id) {
  uint64_t value = 0;
  check(xpu_device_get_attr(&value, which, id), "xpu_device_get_attr");
  return value;
}

XPUMemcpyKind direction(infinirtMemcpyKind_t kind) {
  if (kind == INFINIRT_MEMCPY_H2D) return XPU_HOST_TO_DEVICE;
  return kind == INFINIRT_MEMCPY_D2H ? XPU_DEVICE_TO_HOST : XPU_DEVICE_TO_DEVICE;
}

// Both sides of a copy that has the device on at least one.
void require_sides(const void* dst, const void* src, infinirtMemcpyKind_t kind) {
  if (kind != INFINIRT_MEMCPY_D2H) require_device_memory(dst, "dst");
  if (kind != INFINIRT_MEMCPY_H2D) require_device_memory(src, "src");
}

}  // namespace

Device::Device(int id) : infini::Device(INFINI_DEVICE_KUNLUN, id) {
  clusters_ = static_cast<int>(std::max<uint64_t>(1, attribute(XPUATTR_NUM_CLUSTER, id)));
  capacity_ = attribute(XPUATTR_MEM_MAIN_CAPACITY, id);
}

std::string Device::description() const {
  std::ostringstream text;
  text << "Kunlun XPU, " << clusters_ << " clusters, " << (capacity_ >> 30) << " GiB" << suffix;
  return text.str();
}

BlasHandles& Device::blas() {
  const std::lock_guard lock(blas_mutex_);
  if (!blas_) blas_ = std::make_unique<BlasHandles>();
  return *blas_;
}

void Device::make_current() {
  int now = -1;
  if (xpu_current_device(&now) == XPU_SUCCESS && now == id()) return;
  check(xpu_set_device(id()), "xpu_set_device");
}

// Blocks of other clients of the chip are not known to the runtime, nor to us.
MemoryInfo Device::memory_info() {
  const std::lock_guard lock(blocks_mutex_);
  return {capacity_ - std::min<uint64_t>(used_, capacity_), capacity_};
}

void Device::synchronize() {
  const std::lock_guard lock(streams_mutex_);
  check(xpu_wait(nullptr), "xpu_wait");
  for (XPUStream stream : streams_) check(xpu_wait(stream), "xpu_wait");
}

void* Device::create_stream() {
  const std::lock_guard lock(streams_mutex_);
  streams_.reserve(streams_.size() + 1);  // before there is a stream that could be lost
  XPUStream stream = nullptr;
  check(xpu_stream_create(&stream), "xpu_stream_create");
  streams_.push_back(stream);
  return stream;
}

void Device::destroy_stream(void* stream) {
  const std::lock_guard lock(streams_mutex_);
  const auto found = std::find(streams_.begin(), streams_.end(), stream);
  require(found != streams_.end(), INFINI_STATUS_BAD_PARAM, "stream ", stream,
          " was not made by this device, or was destroyed already");
  streams_.erase(found);
  const int waited = xpu_wait(stream);
  check(xpu_stream_destroy(stream), "xpu_stream_destroy");
  check(waited, "xpu_wait");
}

void Device::synchronize_stream(void* stream) { check(xpu_wait(stream), "xpu_wait"); }

void Device::stream_wait_event(void* stream, void* event) {
  check(xpu_stream_wait_event(stream, event), "xpu_stream_wait_event");
}

void* Device::create_event(uint32_t flags) {
  XPUEvent event = nullptr;
  const std::lock_guard lock(events_mutex_);
  check(xpu_event_create(&event), "xpu_event_create");
  try {
    if ((flags & INFINIRT_EVENT_DISABLE_TIMING) == 0) times_[event] = Time{};
  } catch (...) {
    xpu_event_destroy(event);
    throw;
  }
  return event;
}

void Device::destroy_event(void* event) {
  const std::lock_guard lock(events_mutex_);
  check(xpu_event_destroy(event), "xpu_event_destroy");
  times_.erase(event);
}

void Device::record_event(void* event, void* stream) {
  std::unique_lock lock(events_mutex_);
  const bool timed = times_.count(event) != 0;
  lock.unlock();
  if (timed) check(xpu_wait(stream), "xpu_wait");
  check(xpu_event_record(event, stream), "xpu_event_record");
  if (!timed) return;
  lock.lock();
  times_[event] = std::chrono::steady_clock::now();
}

bool Device::event_complete(void* event) {
  const int code = xpu_event_query(event);
  if (code == -XPUERR_BUSY) return false;
  check(code, "xpu_event_query");
  return true;
}

void Device::synchronize_event(void* event) { check(xpu_event_wait(event), "xpu_event_wait"); }

Device::Time Device::time_of(void* event, const char* argument) {
  const std::lock_guard lock(events_mutex_);
  const auto found = times_.find(event);
  require(found != times_.end(), INFINI_STATUS_BAD_PARAM, argument,
          " is not a timed event of this device");
  require(found->second != Time{}, INFINI_STATUS_BAD_PARAM, argument, " was never recorded");
  return found->second;
}

float Device::elapsed_milliseconds(void* start, void* end) {
  const auto elapsed = time_of(end, "end") - time_of(start, "start");
  return std::chrono::duration<float, std::milli>(elapsed).count();
}

void* Device::allocate(size_t bytes) {
  const std::lock_guard lock(blocks_mutex_);
  void* p = nullptr;
  check(xpu_malloc(&p, bytes), "xpu_malloc", " of ", bytes, " bytes");
  try {
    blocks_[p] = bytes;
  } catch (...) {
    xpu_free(p);
    throw;
  }
  used_ += bytes;
  note_device_memory(p, bytes);
  return p;
}

void Device::forget(void* p) {
  const std::lock_guard lock(blocks_mutex_);
  const auto found = blocks_.find(p);
  require(found != blocks_.end(), INFINI_STATUS_BAD_PARAM, "p ", p,
          " is not the start of a live block of this device");
  used_ -= found->second;
  blocks_.erase(found);
  check(xpu_free(p), "xpu_free");
}

void Device::free(void* p) {
  int waited = 0;
  {
    const std::lock_guard lock(streams_mutex_);
    waited = xpu_wait(nullptr);
    for (XPUStream stream : streams_)
      if (const int code = xpu_wait(stream)) waited = code;
  }
  forget(p);
  check(waited, "xpu_wait");
}

void Device::free_async(void* p, void* stream) {
  const int waited = xpu_wait(stream);
  forget(p);
  check(waited, "xpu_wait");
}

void* Device::allocate_host(size_t bytes) {
  void* p = nullptr;
  check(xpu_host_alloc(&p, bytes, 0), "xpu_host_alloc", " of ", bytes, " bytes");
  return p;
}

void Device::free_host(void* p) { check(xpu_host_free(p), "xpu_host_free"); }

void Device::copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind) {
  if (kind != INFINIRT_MEMCPY_H2H) require_sides(dst, src, kind);
  check(xpu_wait(nullptr), "xpu_wait");
  if (kind == INFINIRT_MEMCPY_H2H)
    std::memcpy(dst, src, bytes);
  else
    check(xpu_memcpy(dst, src, bytes, direction(kind)), "xpu_memcpy", " of ", bytes, " bytes");
}

bool Device::copy_from_peer(void* dst, const infini::Device& from, const void* src, size_t bytes) {
  check(xpu_memcpy_peer(id(), dst, from.id(), src, bytes), "xpu_memcpy_peer", " of ", bytes,
        " bytes from device ", from.id());
  return true;
}

void Device::copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                        void* stream) {
  if (kind == INFINIRT_MEMCPY_H2H) {
    check(xpu_wait(stream), "xpu_wait");  // the host's bytes may still be on their way
    std::memcpy(dst, src, bytes);
    return;
  }
  require_sides(dst, src, kind);
  check(xpu_memcpy_async(dst, src, bytes, direction(kind), stream), "xpu_memcpy_async", " of ",
        bytes, " bytes");
}

void Device::set(void* p, int value, size_t bytes) {
  set_async(p, value, bytes, nullptr);
  check(xpu_wait(nullptr), "xpu_wait");
}

void Device::set_async(void* p, int value, size_t bytes, void* stream) {
  require_device_memory(p, "p");
  check(launch_fill(clusters_, stream, p, static_cast<int64_t>(bytes), value), "fill");
}

}  // namespace infini::kunlun
