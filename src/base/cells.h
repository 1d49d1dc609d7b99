// Objects behind C handles: memory that is never unmapped, so that a stale handle can be recognised.
//
// A handle is the address of a cell whose first bytes are its head. Destroying clears the head's tag
// and puts the cell at the end of a queue, to be reused as late as possible: a destroyed or doubly
// destroyed handle then answers with a wrong tag instead of undefined behaviour. (A handle kept until
// its cell is reused, or a pointer that never was a handle, cannot be recognised by this.)
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/error.h"

namespace infini {

// Head: a standard-layout struct with a member `std::atomic<uint32_t> tag`, first in every cell.
template <class Head, class Payload>
struct Cell {
  Head head;
  Cell* next_free;  // in the queue of free cells
  alignas(Payload) std::byte storage[sizeof(Payload)];

  Payload& payload() { return *std::launder(reinterpret_cast<Payload*>(storage)); }
};

template <class Head, class Payload, uint32_t tag>
class Cells {
 public:
  using CellType = Cell<Head, Payload>;

  // Makes a payload and then fills the head by `fill(head)`.
  template <class Fill, class... Args>
  Head* create(Fill fill, Args&&... args) {
    CellType* cell = take();
    try {
      new (cell->storage) Payload(std::forward<Args>(args)...);
    } catch (...) {
      give_back(cell);
      throw;
    }
    fill(cell->head);
    cell->head.tag.store(tag, std::memory_order_release);
    return &cell->head;
  }

  // The payload of a live handle; throws for NULL and for anything that is not alive.
  static Payload& get(const void* handle, const char* argument) {
    require_pointer(handle, argument);
    require(is_live(handle), INFINI_STATUS_BAD_PARAM, argument, " (", handle,
            ") is not a live object of its type: destroyed already, or another kind of handle");
    return static_cast<CellType*>(const_cast<void*>(handle))->payload();
  }

  static bool is_live(const void* handle) {
    return reinterpret_cast<uintptr_t>(handle) % alignof(CellType) == 0 &&
           static_cast<const CellType*>(handle)->head.tag.load(std::memory_order_acquire) == tag;
  }

  void destroy(void* handle, const char* argument) {
    Payload& payload = get(handle, argument);
    auto* cell = static_cast<CellType*>(handle);
    uint32_t expected = tag;  // of two racing destroys one wins
    require(cell->head.tag.compare_exchange_strong(expected, 0), INFINI_STATUS_BAD_PARAM, argument,
            " was destroyed by another thread");
    payload.~Payload();
    give_back(cell);
  }

 private:
  static constexpr size_t quarantine = 64;  // free cells that stay out of use

  CellType* take() {
    std::lock_guard lock(mutex_);
    if (free_count_ <= quarantine) {
      cells_.push_back(std::make_unique<CellType>());
      return cells_.back().get();
    }
    CellType* cell = oldest_;
    oldest_ = cell->next_free;
    --free_count_;
    return cell;
  }

  // The queue runs through the cells themselves: giving back cannot fail.
  void give_back(CellType* cell) noexcept {
    std::lock_guard lock(mutex_);
    cell->next_free = nullptr;
    (free_count_ == 0 ? oldest_ : newest_->next_free) = cell;
    newest_ = cell;
    ++free_count_;
  }

  std::mutex mutex_;
  std::deque<std::unique_ptr<CellType>> cells_;
  CellType *oldest_ = nullptr, *newest_ = nullptr;
  size_t free_count_ = 0;
};

}  // namespace infini
