// The ways between the host's memory and a device's, as candidates that bid.
#pragma once

#include "contract/candidate.h"
#include "ops/transfer/between.h"

namespace infini {

// What a bid is made for.
struct TransferCase {
  Device& device;
  Device& host;
  Direction direction;
  bool pinned;  // the host's side is
  HostLink link;
  double host_bytes_per_ns;  // of a rearrangement in the host's memory
  int64_t extra_bytes;       // that a copy may take, of both memories together
  bool to_device() const { return direction == Direction::to_device; }
  infinirtMemcpyKind_t kind() const {
    return to_device() ? INFINIRT_MEMCPY_H2D : INFINIRT_MEMCPY_D2H;
  }
  // Copies of the host's pageable memory pass a buffer of the driver's, one thread at a time.
  double bytes_per_ns() const {
    return pinned ? link.bytes_per_ns : link.bytes_per_ns < 6 ? link.bytes_per_ns : 6;
  }
};

// Every run of bytes is a copy of its own.
Bid<Way> bid_runs(const TransferCase& transfer, const RearrangePlan& plan, double limit);
// One copy of rows at even distances.
Bid<Way> bid_rows(const TransferCase& transfer, const RearrangePlan& plan, double limit);
// The device's kernel uses the host's pinned memory in place.
Bid<Way> bid_mapped(const TransferCase& transfer, const RearrangePlan& plan, double limit);
// What lies densely on the host is copied as it lies; the device rearranges it, before or after.
Bid<Way> bid_span(const TransferCase& transfer, const RearrangePlan& plan, double limit);
// The host packs (unpacks) pieces in pinned memory while earlier ones fly.
Bid<Way> bid_pack(const TransferCase& transfer, const RearrangePlan& plan, double limit);

// Device memory of one run, freed in the order of its stream.
class StreamMemory {
 public:
  StreamMemory(Device& device, size_t bytes, void* stream)
      : device_(device), stream_(stream), p_(device.allocate_async(bytes, stream)) {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    if (p_ == nullptr) return;
    try {
      device_.free_async(p_, stream_);
    } catch (const Error&) {  // another failure is on its way
    }
  }
  // Where all went well a failure to free is told.
  void free() {
    device_.free_async(p_, stream_);
    p_ = nullptr;
  }
  char* get() const { return static_cast<char*>(p_); }

 private:
  Device& device_;
  void* stream_;
  void* p_;
};

}  // namespace infini
