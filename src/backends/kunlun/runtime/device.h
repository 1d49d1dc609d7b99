// An XPU as a device. What the runtime lacks is built here on what it has: memset is a kernel,
// device synchronisation waits for every stream we made, event times are the host's, free memory is
// counted.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/kunlun/runtime/blas_handles.h"
#include "contract/device.h"
#include "xpu/runtime.h"

namespace infini::kunlun {

class Device final : public infini::Device {
 public:
  explicit Device(int id);

  int clusters() const { return clusters_; }
  BlasHandles& blas();  // made when first asked for

  std::string description() const override;
  void make_current() override;
  MemoryInfo memory_info() override;
  void synchronize() override;

  void* create_stream() override;
  void destroy_stream(void* stream) override;
  void synchronize_stream(void* stream) override;
  void stream_wait_event(void* stream, void* event) override;

  // The runtime's events know no time. A timed event therefore first waits for its stream when it
  // is recorded, and takes the host's clock; create it with DISABLE_TIMING to stay asynchronous.
  void* create_event(uint32_t flags) override;
  void destroy_event(void* event) override;
  void record_event(void* event, void* stream) override;
  bool event_complete(void* event) override;
  void synchronize_event(void* event) override;
  float elapsed_milliseconds(void* start, void* end) override;

  void* allocate(size_t bytes) override;
  // Waits for all work first: the runtime does not say that xpu_free does.
  void free(void* p) override;
  void* allocate_host(size_t bytes) override;
  void free_host(void* p) override;
  void* allocate_async(size_t bytes, void*) override { return allocate(bytes); }
  void free_async(void* p, void* stream) override;
  // Waits for the default stream; the runtime's own copy waits for none but that, and only to host.
  void copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind) override;
  bool copy_from_peer(void* dst, const infini::Device& from, const void* src,
                      size_t bytes) override;
  void copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                  void* stream) override;
  void set(void* p, int value, size_t bytes) override;
  void set_async(void* p, int value, size_t bytes, void* stream) override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  Time time_of(void* event, const char* argument);
  void forget(void* p);

  int clusters_ = 1;
  uint64_t capacity_ = 0;

  std::mutex streams_mutex_;
  std::vector<XPUStream> streams_;

  std::mutex events_mutex_;
  std::map<XPUEvent, Time> times_;  // of timed events; the epoch: not recorded yet

  std::mutex blocks_mutex_;
  std::map<void*, size_t> blocks_;
  size_t used_ = 0;

  std::mutex blas_mutex_;
  std::unique_ptr<BlasHandles> blas_;
};

}  // namespace infini::kunlun
