// A device without hardware for tests: host memory that it counts and can run out of, streams that
// it only names, captures that it replays.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "contract/device.h"

namespace infini {

class FakeDevice : public Device {
 public:
  explicit FakeDevice(infiniDevice_t kind = INFINI_DEVICE_QY) : Device(kind, 0) {}
  ~FakeDevice() override {
    for (const auto& [p, bytes] : live) std::free(p);
  }

  // Work for a stream: done now, or recorded while there is a capture (into which events bring all
  // streams but the default one).
  void submit(void* stream, const std::function<void()>& work) {
    if (stream != nullptr && capturing != nullptr)
      recorded.push_back(work);
    else
      work();
  }

  std::string description() const override { return "a fake"; }
  MemoryInfo memory_info() override { return {capacity, capacity}; }
  void synchronize() override { ++synchronized; }
  void* create_stream() override { return new char; }
  void destroy_stream(void* stream) override { delete static_cast<char*>(stream); }
  void synchronize_stream(void*) override { ++synchronized; }
  void stream_wait_event(void*, void*) override {}
  void* create_event(uint32_t) override { return this; }
  void destroy_event(void*) override {}
  void record_event(void*, void*) override {}
  bool event_complete(void*) override { return true; }
  void synchronize_event(void*) override {}
  float elapsed_milliseconds(void*, void*) override { return 0; }

  void* allocate(size_t bytes) override {
    size_t used = 0;
    for (const auto& [p, size] : live) used += size;
    require(bytes <= capacity - used, INFINI_STATUS_OUT_OF_MEMORY, "the fake device is full");
    void* p = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    live[p] = bytes;
    return p;
  }
  void free(void* p) override {
    require(live.erase(p) == 1, INFINI_STATUS_BAD_PARAM, "not memory of the fake device");
    std::free(p);
  }
  void* allocate_host(size_t bytes) override { return allocate(bytes); }
  void free_host(void* p) override { free(p); }
  void* allocate_async(size_t bytes, void*) override { return allocate(bytes); }
  void free_async(void* p, void*) override { free(p); }
  void copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t) override {
    std::memcpy(dst, src, bytes);
  }
  void copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t,
                  void* stream) override {
    submit(stream, [=] { std::memcpy(dst, src, bytes); });
  }
  void set(void* p, int value, size_t bytes) override { std::memset(p, value, bytes); }
  void set_async(void* p, int value, size_t bytes, void* stream) override {
    submit(stream, [=] { std::memset(p, value, bytes); });
  }

  using Work = std::vector<std::function<void()>>;
  void begin_capture(void* stream, infinirtStreamCaptureMode_t mode) override {
    if (!can_capture) return Device::begin_capture(stream, mode);
    capturing = stream;
    recorded.clear();
  }
  void* end_capture(void*) override {
    capturing = nullptr;
    ++captures;
    return new Work(std::move(recorded));
  }
  void destroy_graph(void* graph) override { delete static_cast<Work*>(graph); }
  void* instantiate_graph(void* graph) override { return new Work(*static_cast<Work*>(graph)); }
  void destroy_graph_exec(void* exec) override { delete static_cast<Work*>(exec); }
  void launch_graph(void* exec, void*) override {
    ++launches;
    for (const auto& work : *static_cast<Work*>(exec)) work();
  }

  size_t capacity = size_t{1} << 30;
  bool can_capture = true;
  int synchronized = 0, captures = 0, launches = 0;
  std::map<void*, size_t> live;
  void* capturing = nullptr;
  Work recorded;
};

}  // namespace infini
