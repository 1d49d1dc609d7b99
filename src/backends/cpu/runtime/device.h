// The CPU as a device.
#pragma once

#include "contract/device.h"

namespace infini::cpu {

class Device final : public infini::Device {
 public:
  explicit Device(int id) : infini::Device(INFINI_DEVICE_CPU, id) {}

  std::string description() const override;
  MemoryInfo memory_info() override;
  void synchronize() override {}

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
  void* allocate_host(size_t bytes) override { return allocate(bytes); }
  void free_host(void* p) override { free(p); }
  void* allocate_async(size_t bytes, void* stream) override;
  void free_async(void* p, void* stream) override;
  void copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind) override;
  void copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                  void* stream) override;
  void set(void* p, int value, size_t bytes) override;
  void set_async(void* p, int value, size_t bytes, void* stream) override;

  void begin_capture(void* stream, infinirtStreamCaptureMode_t mode) override;
  void* end_capture(void* stream) override;
  void destroy_graph(void* graph) override;
  void* instantiate_graph(void* graph) override;
  void destroy_graph_exec(void* exec) override;
  void launch_graph(void* exec, void* stream) override;
};

}  // namespace infini::cpu
