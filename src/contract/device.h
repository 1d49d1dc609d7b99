// What a device must be able to do for the runtime. One object per physical device, shared by all
// threads: every member may be called concurrently.
//
// Streams, events and graphs are the vendor's own handles (a cudaStream_t is passed as it is), so
// that clients may bring theirs. A null stream is the device's default stream. Every failure is an
// Error whose message carries the vendor's own words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/device_kind.h"
#include "base/error.h"
#include "infinirt.h"

namespace infini {

struct MemoryInfo {
  size_t free_bytes = 0, total_bytes = 0;
};

// What copies between the host's memory and the device's are expected to cost.
struct HostLink {
  double bytes_per_ns = 12;          // of copies from and to pinned memory
  double mapped_bytes_per_ns = 8;    // of kernels that use the host's memory in whole lines
  double start_ns = 8000;            // before the first byte of a copy moves
  double memory_bytes_per_ns = 300;  // of rearrangements inside the device, read or written
};

class Device {
 public:
  Device(infiniDevice_t kind, int id) : kind_(kind), id_(id) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  infiniDevice_t kind() const { return kind_; }
  int id() const { return id_; }

  // One line for people, e.g. "NVIDIA H200, 132 SMs, 139 GiB"; says "emulated" where it is.
  virtual std::string description() const = 0;
  // Makes this the vendor runtime's current device for the calling thread. The runtime calls it
  // before each of the functions below; kernels rely on it too.
  virtual void make_current() {}
  virtual MemoryInfo memory_info() = 0;
  virtual void synchronize() = 0;

  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) = 0;
  virtual void synchronize_stream(void* stream) = 0;
  virtual void stream_wait_event(void* stream, void* event) = 0;

  virtual void* create_event(uint32_t flags) = 0;  // infinirtEventFlags_t
  virtual void destroy_event(void* event) = 0;
  virtual void record_event(void* event, void* stream) = 0;
  virtual bool event_complete(void* event) = 0;
  virtual void synchronize_event(void* event) = 0;
  virtual float elapsed_milliseconds(void* start, void* end) = 0;

  // Sizes are never 0 and pointers never null here: the runtime answers those itself.
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* p) = 0;
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void free_host(void* p) = 0;
  virtual void* allocate_async(size_t bytes, void* stream) = 0;
  virtual void free_async(void* p, void* stream) = 0;
  virtual void copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind) = 0;
  virtual void copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                          void* stream) = 0;
  // Copies from another device of this kind without the host in between and returns when the bytes
  // have arrived; false where there is no such way. All earlier work on both sides must be done.
  virtual bool copy_from_peer(void* /*dst*/, const Device& /*from*/, const void* /*src*/,
                              size_t /*bytes*/) {
    return false;
  }
  // Rows of `width` bytes, each side's so many bytes apart, by one call; where copies_rows() says so.
  virtual bool copies_rows() const { return false; }
  virtual void copy_rows_async(void* /*dst*/, size_t /*dst_step*/, const void* /*src*/,
                               size_t /*src_step*/, size_t /*width*/, size_t /*rows*/,
                               infinirtMemcpyKind_t, void* /*stream*/) {
    fail(INFINI_STATUS_NOT_IMPLEMENTED, "no copies of rows");
  }
  // The host's memory that this device's copies and kernels reach by themselves (pinned).
  virtual bool reaches_host(const void* /*p*/) { return false; }
  virtual HostLink host_link() const { return {}; }
  virtual void set(void* p, int value, size_t bytes) = 0;
  virtual void set_async(void* p, int value, size_t bytes, void* stream) = 0;

  // Recorded work; a device without it keeps these.
  virtual void begin_capture(void*, infinirtStreamCaptureMode_t) { no_capture(); }
  virtual void* end_capture(void*) { no_capture(); }
  virtual void destroy_graph(void*) { no_capture(); }
  virtual void* instantiate_graph(void*) { no_capture(); }
  virtual void destroy_graph_exec(void*) { no_capture(); }
  virtual void launch_graph(void*, void*) { no_capture(); }

 private:
  [[noreturn]] void no_capture() const {
    fail(INFINI_STATUS_NOT_IMPLEMENTED, "device ", device_kind_name(kind_), " ", id_,
         " cannot capture streams into graphs");
  }

  infiniDevice_t kind_;
  int id_;
};

}  // namespace infini
