// Stream-ordered reuse of memory blocks.
#include "runtime/memory_pool.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/checked.h"

namespace infini {

size_t MemoryPool::block_bytes(size_t bytes) {
  constexpr size_t unit = 64;
  const size_t step = std::max(unit, std::bit_floor(bytes) / 8);
  if (bytes > SIZE_MAX - step) return bytes;  // no device has that much: let it say so
  return (bytes + step - 1) / step * step;
}

void* MemoryPool::allocate(size_t bytes, void* stream) {
  const size_t block = block_bytes(bytes);
  std::lock_guard lock(mutex_);
  ++stats_.allocations;
  void* p = take_idle(block, stream);
  if (p == nullptr && !shared_.empty()) {
    reclaim_shared(stream);
    p = take_idle(block, stream);
  }
  if (p != nullptr) {
    ++stats_.reuses;
    stats_.cached_bytes -= block;
  } else {
    p = allocate_from_device(block);
  }
  stats_.in_use_bytes += block;
  stats_.peak_in_use_bytes = std::max(stats_.peak_in_use_bytes, stats_.in_use_bytes);
  stats_.peak_reserved_bytes =
      std::max(stats_.peak_reserved_bytes, stats_.in_use_bytes + stats_.cached_bytes);
  return p;
}

void* MemoryPool::take_idle(size_t block, void* stream) {
  const auto found = idle_.find({stream, block});
  if (found == idle_.end() || found->second.empty()) return nullptr;
  void* p = found->second.back();
  found->second.pop_back();
  return p;
}

// First with idle memory kept, then without.
void* MemoryPool::allocate_from_device(size_t block) {
  const auto fits = [&] {
    const size_t reserved = stats_.in_use_bytes + stats_.cached_bytes;
    return reserved <= limits_.max_reserved_bytes && block <= limits_.max_reserved_bytes - reserved;
  };
  if (fits()) {
    try {
      return raw_allocate(block);
    } catch (const Error&) {
      if (stats_.cached_bytes == 0) throw;
    }
  }
  release_idle();
  require(fits(), INFINI_STATUS_OUT_OF_MEMORY, "out of memory: ", block, " bytes asked for, ",
          stats_.in_use_bytes, " in use, the limit of the ", device_kind_name(device_.kind()), " ",
          device_.id(), " pool is ", limits_.max_reserved_bytes);
  return raw_allocate(block);
}

void* MemoryPool::raw_allocate(size_t block) {
  device_.make_current();
  return kind_ == Kind::device ? device_.allocate(block) : device_.allocate_host(block);
}

// A block that cannot be kept goes straight back to the device.
void MemoryPool::free(void* p, size_t bytes, void* stream, bool used_elsewhere) noexcept {
  const size_t block = block_bytes(bytes);
  std::lock_guard lock(mutex_);
  stats_.in_use_bytes -= block;
  const bool room =
      block <= limits_.max_cached_bytes && stats_.cached_bytes <= limits_.max_cached_bytes - block;
  if (room && keep({p, block}, stream, used_elsewhere)) return;
  try {
    device_.make_current();
    device_.synchronize();
    raw_free(p);
  } catch (...) {  // a device that cannot free: nobody here to tell
  }
}

// False when there is no host memory for the lists.
bool MemoryPool::keep(const Block& block, void* stream, bool used_elsewhere) noexcept {
  try {
    if (used_elsewhere)
      shared_.push_back(block);
    else
      idle_[{stream, block.bytes}].push_back(block.p);
  } catch (const std::bad_alloc&) {
    return false;
  }
  stats_.cached_bytes += block.bytes;
  return true;
}

void MemoryPool::raw_free(void* p) {
  ++stats_.releases;
  kind_ == Kind::device ? device_.free(p) : device_.free_host(p);
}

// Waits until no stream uses the shared blocks any more; they are then as good as `stream`'s own.
void MemoryPool::reclaim_shared(void* stream) {
  device_.make_current();
  device_.synchronize();
  while (!shared_.empty()) {
    idle_[{stream, shared_.back().bytes}].push_back(shared_.back().p);
    shared_.pop_back();
  }
}

size_t MemoryPool::release_idle() {
  reclaim_shared(nullptr);
  size_t released = 0;
  for (auto& [key, blocks] : idle_) {
    while (!blocks.empty()) {
      void* p = blocks.back();
      blocks.pop_back();
      stats_.cached_bytes -= key.second;
      released += key.second;
      raw_free(p);
    }
  }
  idle_.clear();
  return released;
}

size_t MemoryPool::trim() {
  std::lock_guard lock(mutex_);
  return release_idle();
}

PoolStats MemoryPool::stats() {
  std::lock_guard lock(mutex_);
  return stats_;
}

PoolLimits MemoryPool::limits() {
  std::lock_guard lock(mutex_);
  return limits_;
}

void MemoryPool::set_limits(const PoolLimits& limits) {
  std::lock_guard lock(mutex_);
  limits_ = limits;
  if (stats_.cached_bytes > limits_.max_cached_bytes) release_idle();
}

}  // namespace infini
