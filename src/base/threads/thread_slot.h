// What other threads can see of a thread: the objects that it uses now, and whether it is in a section
// that a fork must not cut in two.
//
// Both are announced by plain stores into the thread's own slot, so that they cost next to nothing;
// whoever has to know (a destroy, a fork) makes the announcements of all threads visible and waits.
//
// The library alone carries this, not its modules: a fork waits for the sections of one table of slots.
#pragma once

#include <atomic>

namespace infini {

struct alignas(64) ThreadSlot {
  static constexpr int most_pins = 5;

  std::atomic<const void*> pins[most_pins];  // objects in use; null where there is none
  int pin_count;                             // of these, for the own thread
  std::atomic<int> sections;                 // how deep the thread is in sections
  std::atomic<bool> taken;                   // it belongs to a thread
  ThreadSlot* next;                          // all slots there are; their list only grows
};

namespace thread_slots {

extern constinit thread_local ThreadSlot* own;  // null: not taken yet
extern constinit std::atomic<bool> one_sided;   // the other side's fence serves both
extern constinit std::atomic<bool> fork_near;   // nobody may begin a section

ThreadSlot* take() noexcept;  // null: there is no memory for another
void full_fence();
void wait_for_fork(ThreadSlot& slot);
void enter_crowd() noexcept;  // threads without a slot share one count
void leave_crowd() noexcept;
[[noreturn]] void fail_pin();

inline ThreadSlot* mine() {
  ThreadSlot* slot = own;
  return slot != nullptr ? slot : take();
}

// Law: of a thread that stores, passes here and loads, and another that stores, passes see_all() and
// loads, at least one sees what the other stored.
inline void announce() {
  if (one_sided.load(std::memory_order_relaxed)) [[likely]]
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    full_fence();
}
void see_all();

}  // namespace thread_slots

// Which side of a destroy pays: objects that are used much oftener than destroyed (operators) are pinned
// by a plain store, and whoever destroys one interrupts all threads (a microsecond or two where there
// are others); for those that come and go, pinning is an atomic exchange and destroying is free.
enum class Lives { long_, short_ };

// While it lives, nobody who waits by wait_until_unpinned() gets past this object. Pins of one thread
// end in the reverse order of their beginning.
class Pin {
 public:
  Pin(const void* object, Lives lives) : slot_(thread_slots::mine()) {
    if (slot_ == nullptr || slot_->pin_count == ThreadSlot::most_pins) [[unlikely]]
      thread_slots::fail_pin();
    auto& pin = slot_->pins[slot_->pin_count++];
    if (lives == Lives::short_) {
      pin.exchange(object);
    } else {
      pin.store(object, std::memory_order_release);
      thread_slots::announce();
    }
  }
  ~Pin() { slot_->pins[--slot_->pin_count].store(nullptr, std::memory_order_release); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  ThreadSlot* slot_;
};

// Returns when no other thread pins the object. New pins must find by themselves that it is not to be
// used any more: the caller has stored that before, where they look after pinning (both sequentially
// consistent).
void wait_until_unpinned(const void* object, Lives lives);

// A section that is whole in a child of fork(): the fork waits until no thread is in one. Sections may
// stand inside each other and hold locks; they must not wait for a thread that is in none.
class Section {
 public:
  Section() { enter(); }
  ~Section() { leave(); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  static void enter() noexcept {
    ThreadSlot* slot = thread_slots::mine();
    if (slot == nullptr) [[unlikely]]
      return thread_slots::enter_crowd();
    const int depth = slot->sections.load(std::memory_order_relaxed);
    slot->sections.store(depth + 1, std::memory_order_release);
    if (depth > 0) return;
    thread_slots::announce();
    if (thread_slots::fork_near.load(std::memory_order_acquire)) [[unlikely]]
      thread_slots::wait_for_fork(*slot);
  }
  static void leave() noexcept {
    ThreadSlot* slot = thread_slots::own;
    if (slot == nullptr) [[unlikely]]
      return thread_slots::leave_crowd();
    slot->sections.store(slot->sections.load(std::memory_order_relaxed) - 1,
                         std::memory_order_release);
  }
};

}  // namespace infini
