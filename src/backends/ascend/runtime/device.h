// An Ascend device: CANN's runtime behind the contract, and the memory that kernels borrow.
#pragma once

#include "backends/ascend/runtime/stream_memory.h"
#include "contract/device.h"

namespace infini::ascend {

// Starts CANN; 0 devices come with a reason. Never throws.
int device_count(std::string& why_none);

class Device final : public infini::Device {
 public:
  explicit Device(int id);
  ~Device() override;

  std::string description() const override { return description_; }
  void make_current() override;
  MemoryInfo memory_info() override;
  void synchronize() override;

  void* create_stream() override;
  void destroy_stream(void* stream) override;
  void synchronize_stream(void* stream) override;
  void stream_wait_event(void* stream, void* event) override;

  void* create_event(uint32_t flags) override;
  void destroy_event(void* event) override;
  void record_event(void* event, void* stream) override;
  bool event_complete(void* event) override;
  void synchronize_event(void* event) override;
  float elapsed_milliseconds(void* start, void* end) override;

  void* allocate(size_t bytes) override;
  void free(void* p) override;
  void* allocate_host(size_t bytes) override;
  void free_host(void* p) override;
  void* allocate_async(size_t bytes, void* stream) override;
  void free_async(void* p, void* stream) override;
  void copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind) override;
  void copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                  void* stream) override;
  void set(void* p, int value, size_t bytes) override;
  void set_async(void* p, int value, size_t bytes, void* stream) override;

  StreamMemory& stream_memory() { return memory_; }

 private:
  std::string description_;
  StreamMemory memory_;
};

}  // namespace infini::ascend
