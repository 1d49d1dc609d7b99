// A pool of device (or page-locked host) memory: blocks that were freed are handed out again in
// stream order, without a call to the device and without waiting for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "contract/device.h"

namespace infini {

struct PoolStats {
  size_t in_use_bytes = 0, cached_bytes = 0, peak_in_use_bytes = 0, peak_reserved_bytes = 0;
  uint64_t allocations = 0, reuses = 0, releases = 0;
};
struct PoolLimits {
  size_t max_reserved_bytes = SIZE_MAX;  // in use + cached
  size_t max_cached_bytes = SIZE_MAX;
};

// Law: a block is handed out only to work that comes after all work that used it before: on the
// stream it was freed on at once, elsewhere after the device was idle. All members may be called
// concurrently. Statistics count blocks, which are up to an eighth larger than what was asked for.
class MemoryPool {
 public:
  enum class Kind { device, pinned_host };
  MemoryPool(Device& device, Kind kind, PoolLimits limits)
      : device_(device), kind_(kind), limits_(limits) {}

  Kind kind() const { return kind_; }
  // bytes > 0. Throws the device's error, or OUT_OF_MEMORY at the limit, after giving idle memory
  // back.
  void* allocate(size_t bytes, void* stream);
  // `stream` and `bytes` as in allocate; used_elsewhere: other streams used it, too.
  void free(void* p, size_t bytes, void* stream, bool used_elsewhere) noexcept;
  // Waits for the device and gives all idle memory back; returns how many bytes.
  size_t trim();

  PoolStats stats();
  PoolLimits limits();
  void set_limits(const PoolLimits& limits);

  // What a request of this size takes: steps of 64 bytes, then of an eighth of a power of two.
  static size_t block_bytes(size_t bytes);

 private:
  struct Block {
    void* p;
    size_t bytes;
  };
  bool keep(const Block& block, void* stream, bool used_elsewhere) noexcept;
  void* take_idle(size_t block, void* stream);
  void* allocate_from_device(size_t block);
  void* raw_allocate(size_t block);
  void raw_free(void* p);
  void reclaim_shared(void* stream);
  size_t release_idle();

  Device& device_;
  const Kind kind_;
  Mutex mutex_;  // guards everything below
  PoolLimits limits_;
  PoolStats stats_;
  std::map<std::pair<void*, size_t>, std::vector<void*>> idle_;  // by stream and block size
  std::vector<Block> shared_;                                    // idle once the device has been
};

}  // namespace infini
