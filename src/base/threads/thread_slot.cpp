// The table of slots, the fence that makes them visible, and what happens at a fork.
#include "base/threads/thread_slot.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "base/error.h"
#include "base/threads/thread_end.h"

namespace infini {
namespace thread_slots {

constinit thread_local ThreadSlot* own = nullptr;
constinit std::atomic<bool> one_sided{false};
constinit std::atomic<bool> fork_near{false};

namespace {

constinit std::atomic<ThreadSlot*> all{nullptr};
constinit std::atomic<int> fences{0};

// The first slots need no allocation.
constexpr int ready_count = 32;
constinit ThreadSlot ready[ready_count] = {};
constinit std::atomic<int> ready_used{0};

// Threads for which there was no memory.
constinit std::atomic<int> crowd{0};
constinit thread_local int depth_in_crowd = 0;

long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

// For short waits: the others are about to go on, unless they have to wait for a processor.
class Patience {
 public:
  void wait() {
    if (++rounds_ < 100) return relax();
    rounds_ < 200 ? static_cast<void>(sched_yield()) : static_cast<void>(usleep(50));
  }

 private:
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  int rounds_ = 0;
};

// Other slots' uses of `body`; the list is walked without a lock, since it only grows.
template <class Body>
void for_others(Body body) {
  for (ThreadSlot* slot = all.load(); slot != nullptr; slot = slot->next)
    if (slot != own) body(*slot);
}

void put_back(void* slot) {
  own = nullptr;
  static_cast<ThreadSlot*>(slot)->taken.store(false, std::memory_order_release);
}

constinit ThreadEnd at_end{put_back};

ThreadSlot* free_slot() {
  for (ThreadSlot* slot = all.load(); slot != nullptr; slot = slot->next)
    if (!slot->taken.load(std::memory_order_relaxed) && !slot->taken.exchange(true)) return slot;
  return nullptr;
}

ThreadSlot* new_slot() {
  const int index = ready_used.load() < ready_count ? ready_used.fetch_add(1) : ready_count;
  ThreadSlot* slot = index < ready_count ? &ready[index] : new (std::nothrow) ThreadSlot{};
  if (slot == nullptr) return nullptr;
  slot->taken.store(true);
  slot->next = all.load();
  while (!all.compare_exchange_weak(slot->next, slot)) {
  }
  return slot;
}

// --- forks ---

constinit std::atomic<bool> forking{false};  // one at a time

void before_fork() {
  for (Patience patience; forking.exchange(true);) patience.wait();
  fork_near.store(true);
  see_all();
  for_others([](ThreadSlot& slot) {
    for (Patience patience; slot.sections.load(std::memory_order_acquire) > 0;) patience.wait();
  });
  const int own_crowd = depth_in_crowd > 0 ? 1 : 0;
  for (Patience patience; crowd.load() > own_crowd;) patience.wait();
}

void after_fork() {
  fork_near.store(false, std::memory_order_release);
  forking.store(false, std::memory_order_release);
}

// The other threads are not here.
void in_child() {
  if (one_sided.load()) one_sided.store(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
  for_others([](ThreadSlot& slot) {
    for (auto& pin : slot.pins) pin.store(nullptr, std::memory_order_relaxed);
    slot.pin_count = 0;
    slot.sections.store(0, std::memory_order_relaxed);
    slot.taken.store(false, std::memory_order_relaxed);
  });
  crowd.store(depth_in_crowd > 0 ? 1 : 0);
  after_fork();
}

const bool watches = [] {
  one_sided.store(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0);
  return pthread_atfork(before_fork, after_fork, in_child) == 0;
}();

}  // namespace

// All pass through one variable, each seeing what those before it had stored.
void full_fence() { fences.fetch_add(0, std::memory_order_acq_rel); }

ThreadSlot* take() noexcept {
  if (depth_in_crowd > 0) return nullptr;  // a section ends as it began
  ThreadSlot* slot = free_slot();
  if (slot == nullptr) slot = new_slot();
  if (slot == nullptr) return nullptr;
  own = slot;
  full_fence();  // who does not see this slot in see_all() is seen by what it announces
  at_end.set(slot);
  return slot;
}

void enter_crowd() noexcept {
  if (depth_in_crowd++ > 0) return;
  for (crowd.fetch_add(1); fork_near.load(); crowd.fetch_add(1)) {
    crowd.fetch_sub(1);
    for (Patience patience; fork_near.load();) patience.wait();
  }
}

void leave_crowd() noexcept {
  if (--depth_in_crowd == 0) crowd.fetch_sub(1);
}

void see_all() {
  full_fence();
  bool others = false;
  for_others([&](ThreadSlot& slot) { others = others || slot.taken.load(); });
  if (!others || !one_sided.load(std::memory_order_relaxed)) return;
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  one_sided.store(false);  // forbidden since: from now on each makes its own
  usleep(1000);            // no store stays in a processor's buffer that long
}

void wait_for_fork(ThreadSlot& slot) {
  do {
    slot.sections.store(0, std::memory_order_release);
    for (Patience patience; fork_near.load(std::memory_order_acquire);) patience.wait();
    slot.sections.store(1, std::memory_order_release);
    announce();
  } while (fork_near.load(std::memory_order_acquire));
}

void fail_pin() {
  if (own == nullptr) throw std::bad_alloc();
  fail(INFINI_STATUS_INTERNAL_ERROR, "a call uses more than ", ThreadSlot::most_pins, " objects");
}

}  // namespace thread_slots

void wait_until_unpinned(const void* object, Lives lives) {
  if (lives == Lives::long_) thread_slots::see_all();
  thread_slots::for_others([&](ThreadSlot& slot) {
    for (auto& pin : slot.pins)
      for (thread_slots::Patience patience; pin.load() == object;) patience.wait();
  });
}

}  // namespace infini
