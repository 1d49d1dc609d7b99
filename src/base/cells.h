// Objects behind C handles: memory that is never unmapped, so that a stale handle can be recognised.
//
// A handle is the address of a cell whose first bytes are its head. Destroying clears the head's tag
// and puts the cell at the end of a queue, to be reused as late as possible: a destroyed or doubly
// destroyed handle then answers with a wrong tag instead of undefined behaviour. (A handle kept until
// its cell is reused, or a pointer that never was a handle, cannot be recognised by this.)
//
// Who uses an object pins it. Destroying waits for those who do, so that a run which another thread's
// destroy meets comes to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/threads/mutex.h"
#include "base/threads/thread_slot.h"

namespace infini {

// Head: a standard-layout struct with a member `std::atomic<uint32_t> tag`, first in every cell.
template <class Head, class Payload>
struct Cell {
  Head head;
  Cell* next_free;                    // in the queue of free cells
  std::unique_ptr<Cell> made_before;  // all cells there are
  alignas(Payload) std::byte storage[sizeof(Payload)];

  Payload& payload() { return *std::launder(reinterpret_cast<Payload*>(storage)); }
};

// No cell lies in the first page or in the kernel's half of the addresses: what does is no handle, and
// must not be looked at.
inline bool could_be_handle(const void* handle, size_t alignment) {
  return reinterpret_cast<intptr_t>(handle) >= 4096 &&
         reinterpret_cast<uintptr_t>(handle) % alignment == 0;
}

[[noreturn]] inline void fail_handle(const void* handle, const char* argument) {
  require_pointer(handle, argument);
  fail(INFINI_STATUS_BAD_PARAM, argument, " (", handle,
       ") is not a live object of its type: destroyed already, or another kind of handle");
}

template <class Head, class Payload, uint32_t tag, Lives lives = Lives::short_>
class Cells {
 public:
  using CellType = Cell<Head, Payload>;

  // A live object, which stays so as long as this does.
  class Pinned {
   public:
    Payload* operator->() const { return &cell_.payload(); }
    Payload& operator*() const { return cell_.payload(); }

   private:
    friend class Cells;
    Pinned(CellType& cell, const char* argument) : pin_(&cell, lives), cell_(cell) {
      if (cell.head.tag.load() != tag) [[unlikely]]
        fail_handle(&cell, argument);
    }
    Pin pin_;
    CellType& cell_;
  };

  Cells() = default;
  ~Cells() {  // one by one: a chain of owners would be destroyed recursively
    while (made_ != nullptr) made_ = std::move(made_->made_before);
  }
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

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

  // Throws for NULL and for anything that is not alive.
  static Pinned pin(const void* handle, const char* argument) {
    return Pinned(cell_of(handle, argument), argument);
  }

  // Returns when nobody uses the object any more.
  void destroy(void* handle, const char* argument) {
    CellType& cell = cell_of(handle, argument);
    uint32_t expected = tag;  // of two racing destroys one wins
    if (cell.head.tag.load() != tag || !cell.head.tag.compare_exchange_strong(expected, 0))
      fail_handle(handle, argument);
    wait_until_unpinned(&cell, lives);
    cell.payload().~Payload();
    give_back(&cell);
  }

 private:
  static constexpr size_t quarantine = 64;  // free cells that stay out of use

  static CellType& cell_of(const void* handle, const char* argument) {
    if (!could_be_handle(handle, alignof(CellType))) [[unlikely]]
      fail_handle(handle, argument);
    return *static_cast<CellType*>(const_cast<void*>(handle));
  }

  CellType* take() {
    std::lock_guard lock(mutex_);
    if (free_count_ <= quarantine) {
      auto made = std::make_unique<CellType>();
      made->made_before = std::move(made_);
      made_ = std::move(made);
      return made_.get();
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

  Mutex mutex_;
  std::unique_ptr<CellType> made_;  // the latest; it owns the one made before it
  CellType *oldest_ = nullptr, *newest_ = nullptr;
  size_t free_count_ = 0;
};

}  // namespace infini
