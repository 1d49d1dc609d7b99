// Memory that tensors share.
#include "infinicore/memory.hpp"

#include <algorithm>
#include <climits>

#include "tensor/access.h"
#include "tensor/thread_state.h"

namespace infinicore {

Memory::Memory(void* data, std::size_t size, Device device, Deleter deleter)
    : data_(static_cast<std::byte*>(data)),
      size_(size),
      place_(&detail::place_of(device)),
      deleter_(std::move(deleter)) {}

Memory::Memory(std::byte* data, std::size_t size, Device device,
               std::function<void(std::byte*)> deleter, bool pin_memory)
    : Memory(data, size, device, Deleter{}) {
  pinned_ = pin_memory;
  if (deleter)
    deleter_ = [given = std::move(deleter)](void* p) { given(static_cast<std::byte*>(p)); };
}

Memory::Memory(const std::shared_ptr<Memory>& origin)
    : data_(origin->data_),
      size_(origin->size_),
      place_(origin->place_),
      pinned_(origin->is_pinned()),
      borrowed_(true),
      origin_(origin) {}

std::shared_ptr<Memory> Memory::origin(const std::shared_ptr<Memory>& memory) {
  return memory && memory->borrowed_ ? origin(memory->origin_.lock()) : memory;
}

Memory::Memory(infini::Place& place, infini::MemoryPool& pool, std::size_t size, void* stream)
    : data_(static_cast<std::byte*>(pool.allocate(size, stream))),
      size_(size),
      place_(&place),
      pool_(&pool),
      stream_(stream) {}

Memory::~Memory() {
  if (pool_ != nullptr) {
    // A copy that the client started may still use pinned memory; on which stream is not known.
    pool_->free(data_, size_, stream_, shared_.load() || is_pinned());
    return;
  }
  try {
    if (deleter_) deleter_(data_);
  } catch (...) {  // the client's own; a destructor has nobody to tell
  }
}

Device Memory::device() const {
  return {static_cast<Device::Type>(place_->device.kind()),
          static_cast<Device::Index>(place_->device.id())};
}

bool Memory::is_pinned() const {
  return pinned_ || (pool_ != nullptr && pool_->kind() == infini::MemoryPool::Kind::pinned_host);
}

namespace detail {

infini::Place& place_of(const Device& device) {
  const auto id = static_cast<int>(std::min<Device::Index>(device.getIndex(), INT_MAX));
  return infini::place_of(static_cast<infiniDevice_t>(device.getType()), id);
}

std::shared_ptr<Memory> allocate(infini::Place& place, size_t bytes) {
  return std::make_shared<Memory>(place, place.memory, std::max<size_t>(bytes, 1),
                                  this_thread().stream(place));
}

}  // namespace detail
}  // namespace infinicore
