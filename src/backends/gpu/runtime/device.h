// A GPU as the runtime sees it.
#pragma once

#include <memory>
#include <string>

#include "backends/gpu/runtime/stream_park.h"
#include "contract/device.h"
#include "vendor.h"

namespace infini::gpu {

class GpuDevice final : public Device {
 public:
  explicit GpuDevice(int id);

  const DeviceFacts& facts() const { return facts_; }
  // The vendor's stream; throws BAD_PARAM when it is known to have been destroyed.
  Stream live(void* stream) const;

  std::string description() const override;
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
  bool copy_from_peer(void* dst, const Device& from, const void* src, size_t bytes) override;
  void copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                  void* stream) override;
  bool copies_rows() const override { return true; }
  void copy_rows_async(void* dst, size_t dst_step, const void* src, size_t src_step, size_t width,
                       size_t rows, infinirtMemcpyKind_t kind, void* stream) override;
  bool reaches_host(const void* p) override;
  HostLink host_link() const override;
  void set(void* p, int value, size_t bytes) override;
  void set_async(void* p, int value, size_t bytes, void* stream) override;

  void begin_capture(void* stream, infinirtStreamCaptureMode_t mode) override;
  void* end_capture(void* stream) override;
  void destroy_graph(void* graph) override;
  void* instantiate_graph(void* graph) override;
  void destroy_graph_exec(void* exec) override;
  void launch_graph(void* exec, void* stream) override;

 private:
  DeviceFacts facts_{};
  StreamPark park_;
};

// For the backend's table.
int device_count(std::string& why_none);
std::unique_ptr<Device> open_device(int id);

// Throws BAD_PARAM when kernels of this device cannot reach the memory: a plain host pointer, or
// memory of another device. Costs a look into the driver's table, which is remembered until memory is
// freed through this runtime; no synchronisation.
void require_reachable(const GpuDevice& device, const void* p, const char* argument);

}  // namespace infini::gpu
