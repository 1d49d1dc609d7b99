// A pool without a queue and without a lock: a caller offers its region to idle workers by an atomic of each, does the
// work itself if they do not take it, and withdraws what was not taken. All of its memory is static, so that nothing can
// fail but making a thread, and a forked child starts again by clearing it.
#include "backends/cpu/runtime/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "backends/cpu/runtime/waiting.h"
#include "base/threads/executor.h"
#include "base/threads/processors.h"
#include "base/threads/thread_count.h"

namespace infini::cpu {
namespace {

// Of a worker for the next region; of a caller for the last worker.
constexpr Patience idle_patience{1'000'000, 0, true}, end_patience{100'000, 10'000, false};
constexpr int64_t try_again_after = 1'000'000'000;  // ns: when no thread could be made
constexpr int wakes_each = 2;  // sleepers that one thread wakes before it works: those wake others
constexpr size_t stack_bytes = 2 << 20;

// One call of gather(), on its caller's stack: workers know it from their acceptance to their leaving.
struct Region {
  static constexpr uint32_t asleep = 1u << 31;  // the caller sleeps on `left`

  MemberBody body;
  void* context;
  int ranks;
  std::atomic<int> next_to_wake{1};
  alignas(64) std::atomic<uint32_t> left{0};  // how many workers have left it

  void wake_some();
  void leave();
  void wait_for(uint32_t members);
};

// Lets a thread (0: this one) use a processor, or not; false where that cannot be.
bool allow(int tid, int processor, bool allowed) {
  cpu_set_t set;
  if (sched_getaffinity(tid, sizeof set, &set) != 0) return false;
  allowed ? CPU_SET(processor, &set) : CPU_CLR(processor, &set);
  return CPU_COUNT(&set) > 0 && sched_setaffinity(tid, sizeof set, &set) == 0;
}

constinit std::atomic<bool> stopping{false};

// A place for a thread, by its rank; idle while it has no region. Two lines, since processors fetch them in pairs.
struct alignas(128) Worker {
  std::atomic<Region*> region{nullptr};  // offered to it, or `taken`
  std::atomic<uint32_t> sleeps{0};
  std::atomic<int> tid{0};
  std::atomic<int> kept_from{-1};  // the processor of whoever woke it
  pthread_t thread{};

  bool offer(Region& work) {
    Region* idle = nullptr;
    return region.load(std::memory_order_relaxed) == idle &&
           region.compare_exchange_strong(idle, &work);
  }
  bool withdraw(Region& work) {
    Region* offered = &work;
    return region.load(std::memory_order_relaxed) == offered &&
           region.compare_exchange_strong(offered, nullptr, std::memory_order_relaxed);
  }
  void sleep() {
    tid.store(static_cast<int>(syscall(SYS_gettid)), std::memory_order_relaxed);
    sleeps.store(1);
    if (region.load() == nullptr && !stopping.load()) sleep_on(sleeps, 1);
    sleeps.store(0);
    const int denied = kept_from.exchange(-1, std::memory_order_acquire);
    if (denied >= 0) allow(0, denied, true);
  }
  bool wake() {
    if (sleeps.load() == 0 || sleeps.exchange(0) == 0) return false;
    // Anywhere but here, where its waker works: kernels of virtual machines take idle processors that the host has put to
    // sleep for busy ones, and for milliseconds nothing would come of it.
    const int here = sched_getcpu();
    if (here >= 0 && allow(tid.load(std::memory_order_relaxed), here, false))
      kept_from.store(here, std::memory_order_release);
    wake_sleepers(&sleeps, 1);
    return true;
  }
};

Region taken_mark{};
Region* const taken = &taken_mark;

constinit Worker workers[max_thread_count];  // by rank; 0 is the caller's
constinit std::atomic<int> made{0};          // threads, of ranks 1 to `made`
constinit std::atomic<bool> making{false};  // somebody makes some now; or none may be made any more
constinit std::atomic<int64_t> not_before{0};  // when to try again
pid_t owner = 0;

thread_local bool gathered = false;

void Region::wake_some() {
  for (int woken = 0; woken < wakes_each;) {
    const int rank = next_to_wake.fetch_add(1, std::memory_order_relaxed);
    if (rank >= ranks) return;
    woken += workers[rank].wake();
  }
}

void Region::leave() {
  if (left.fetch_add(1, std::memory_order_acq_rel) & asleep) wake_sleepers(&left);
}

void Region::wait_for(uint32_t members) {
  const auto all_left = [&] { return (left.load(std::memory_order_acquire) & ~asleep) == members; };
  if (spin_until(all_left, end_patience)) return;
  for (uint32_t seen = left.fetch_or(asleep, std::memory_order_acq_rel) | asleep;
       (seen & ~asleep) != members; seen = left.load(std::memory_order_acquire))
    sleep_on(left, seen);
}

// The region that was offered, or null when the pool ends.
Region* next_region(Worker& self) {
  const auto is_called = [&] {
    return self.region.load(std::memory_order_relaxed) != nullptr ||
           stopping.load(std::memory_order_relaxed);
  };
  const bool may_spin = &self - workers < usable_processors();  // else there is none for it
  for (;;) {
    if (!(may_spin ? spin_until(is_called, idle_patience) : is_called())) self.sleep();
    Region* const offered = self.region.load(std::memory_order_relaxed);
    if (offered != nullptr) return offered;
    if (stopping.load()) return nullptr;
  }
}

void* work(void* place) {
  Worker& self = *static_cast<Worker*>(place);
  gathered = true;
  while (Region* region = next_region(self)) {
    if (!self.region.compare_exchange_strong(region, taken)) continue;  // withdrawn meanwhile
    region->wake_some();
    region->body(region->context, static_cast<int>(&self - workers));
    // Idle before it leaves: the caller's next region finds it so.
    self.region.store(nullptr, std::memory_order_release);
    region->leave();
  }
  return nullptr;
}

// Signals are the client's, who does not expect its handlers to run here; faults and profilers' are this thread's own.
bool start(Worker& place) {
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF})
    sigdelset(&blocked, own);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const bool started = pthread_create(&place.thread, &attributes, work, &place) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (!started) return false;
  char name[16];
  std::snprintf(name, sizeof name, "infini-%d", static_cast<int>(&place - workers));
  pthread_setname_np(place.thread, name);
  return true;
}

// Makes threads of ranks 1 to `count`, or as many of them as can be made. While another caller does so, this one goes on
// with those that there are.
void make(int count) {
  if (made.load(std::memory_order_relaxed) >= count) return;
  if (nanoseconds_now() < not_before.load(std::memory_order_relaxed)) return;
  if (making.exchange(true, std::memory_order_acquire)) return;
  int ready = made.load(std::memory_order_relaxed);
  owner = getpid();
  usable_processors();  // known to the workers
  while (ready < count && start(workers[ready + 1])) made.store(++ready, std::memory_order_release);
  if (ready < count)
    not_before.store(nanoseconds_now() + try_again_after, std::memory_order_relaxed);
  making.store(false, std::memory_order_release);
}

// In a child of fork() there is one thread, and whatever the others were doing has no end.
void forget_workers() {
  for (int rank = made.load(std::memory_order_relaxed); rank > 0; --rank) {
    workers[rank].region.store(nullptr, std::memory_order_relaxed);
    workers[rank].sleeps.store(0, std::memory_order_relaxed);
    workers[rank].kept_from.store(-1, std::memory_order_relaxed);
  }
  made.store(0, std::memory_order_relaxed);
  not_before.store(0, std::memory_order_relaxed);
  making.store(stopping.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// At the end of the process: no thread may use what is being destroyed. Whoever opens a region later, in a destructor of
// its own, has one thread.
void stop() {
  stopping.store(true);
  while (making.exchange(true, std::memory_order_acquire)) sched_yield();
  const int count = made.exchange(0, std::memory_order_relaxed);
  if (owner != getpid()) return;  // of a child whose fork() nobody told us of
  for (int rank = 1; rank <= count; ++rank) workers[rank].wake();
  for (int rank = 1; rank <= count; ++rank) pthread_join(workers[rank].thread, nullptr);
}

const struct Lifetime {
  Lifetime() { pthread_atfork(nullptr, nullptr, forget_workers); }
  ~Lifetime() { stop(); }
} lifetime;

// body(context, rank) as part of a region, on a thread that may belong to anybody.
void enter(MemberBody body, void* context, int rank) {
  const bool before = gathered;
  gathered = true;
  body(context, rank);
  gathered = before;
}

void gather_by(const Executor& executor, int threads, MemberBody body, void* context) {
  struct Call {
    MemberBody body;
    void* context;
    int threads;
  } call{body, context, threads};
  executor.parallel(
      executor.user, threads,
      [](void* given, int rank) {
        const Call& of = *static_cast<const Call*>(given);
        if (rank >= 0 && rank < of.threads) enter(of.body, of.context, rank);
      },
      &call);
  enter(body, context, 0);  // does what was left undone
}

}  // namespace

bool is_gathered() { return gathered; }

void gather(int threads, MemberBody body, void* context) {
  if (threads <= 1 || gathered) return enter(body, context, 0);
  if (const Executor* executor = current_executor())
    return gather_by(*executor, threads, body, context);
  make(threads - 1);
  Region region{.body = body, .context = context, .ranks = 0};
  region.ranks = std::min(threads, made.load(std::memory_order_acquire) + 1);
  uint32_t members = 0;
  for (int rank = 1; rank < region.ranks; ++rank) members += workers[rank].offer(region);
  if (members > 0) region.wake_some();
  enter(body, context, 0);
  for (int rank = 1; rank < region.ranks; ++rank) members -= workers[rank].withdraw(region);
  region.wait_for(members);
}

}  // namespace infini::cpu
