// infinicore/memory.hpp: a piece of device or host memory that tensors share.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "device.hpp"

namespace infini {
struct Place;
class MemoryPool;
}  // namespace infini

namespace infinicore {

// Pooled memory goes back to its device's pool, in the order of the stream it was made for; foreign
// memory (from_blob) goes to its deleter, or is left alone when there is none.
class INFINI_EXPORT Memory {
 public:
  using Deleter = std::function<void(void*)>;

  // Foreign memory. The device must exist.
  Memory(void* data, std::size_t size, Device device, Deleter deleter);
  // The same, and whether it is page-locked host memory.
  Memory(std::byte* data, std::size_t size, Device device, std::function<void(std::byte*)> deleter,
         bool pin_memory);
  // The bytes of another one, which they do not keep alive.
  explicit Memory(const std::shared_ptr<Memory>& origin);
  // What such a one was made of; null when that is gone, itself when it is no such one.
  static std::shared_ptr<Memory> origin(const std::shared_ptr<Memory>& memory);
  // Of a pool: for the library's own use.
  Memory(infini::Place& place, infini::MemoryPool& pool, std::size_t size, void* stream);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  // Where it is.
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  Device device() const;
  // Of a pool; else it is foreign.
  bool is_pooled() const { return pool_ != nullptr; }
  // Page-locked host memory, which devices copy to and from faster.
  bool is_pinned() const;
  // For the library's own use.
  infini::Place& place() const { return *place_; }
  // To be called when work on another stream than the one it was made for touches this memory: it
  // then returns to the pool only after the device has been idle.
  void used_on(void* stream) {
    if (stream != stream_) shared_.store(true, std::memory_order_relaxed);
  }

 private:
  std::byte* data_;
  std::size_t size_;
  infini::Place* place_;
  infini::MemoryPool* pool_ = nullptr;
  void* stream_ = nullptr;
  std::atomic<bool> shared_{false};
  bool pinned_ = false, borrowed_ = false;
  std::weak_ptr<Memory> origin_;
  Deleter deleter_;
};

}  // namespace infinicore
