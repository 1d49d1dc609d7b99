// Parallel regions by OpenMP.
#include "backends/cpu/runtime/parallel.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/thread_count.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace infini::cpu {
namespace {

std::atomic<bool> forked{false};

// In a child the OpenMP runtime's threads are gone; asking for them would wait forever.
const bool watches_forks = [] {
  pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  return true;
}();

// Tells ThreadSanitizer what OpenMP's own (uninstrumented) barriers guarantee: the body sees what the
// caller wrote, and the caller what the body wrote. Functions of their own, since std::atomic's are
// always inlined and those that open a region are not instrumented.
struct Handover {
  std::atomic<int> started{0}, finished{0};

  [[gnu::noinline]] void open() { started.store(1, std::memory_order_release); }
  [[gnu::noinline]] void enter() { started.load(std::memory_order_acquire); }
  [[gnu::noinline]] void leave() { finished.fetch_add(1, std::memory_order_release); }
  [[gnu::noinline]] void close() { finished.load(std::memory_order_acquire); }
};

// One region's work.
struct Region {
  int64_t count;
  int threads;
  ChunkBody body;
  const void* context;
  Handover handover{};

  void run_chunk(int index) {
    handover.enter();
    const int64_t begin = count * index / threads, end = count * (index + 1) / threads;
    if (begin < end) body(context, begin, end);
    handover.leave();
  }
};

}  // namespace

void Team::wait() {
  if (size_ == 1) return;
  const int round = meeting_.round.load(std::memory_order_acquire);
  if (meeting_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    meeting_.arrived.store(0, std::memory_order_relaxed);
    meeting_.round.store(round + 1, std::memory_order_release);
    return;
  }
  // The others are a few microseconds away, unless they have to wait for a processor.
  for (int spins = 0; meeting_.round.load(std::memory_order_acquire) == round; ++spins) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (spins > 2000) sched_yield();
  }
}

int available_threads() {
  if (forked.load(std::memory_order_relaxed)) return 1;
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : thread_count();
#else
  return 1;
#endif
}

#ifdef _OPENMP
OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }
#else
OneThread::OneThread() : before_(1) {}
OneThread::~OneThread() = default;
#endif

bool shares_openmp(void* library) {
  void* theirs = dlsym(library, "omp_in_parallel");
#ifdef _OPENMP
  return theirs == nullptr || theirs == reinterpret_cast<void*>(&omp_in_parallel);
#else
  return theirs == nullptr;
#endif
}

__attribute__((no_sanitize("thread"))) void parallel_chunks(int64_t count, int threads,
                                                            ChunkBody body, const void* context) {
  Region region{count, static_cast<int>(std::min<int64_t>(threads, count)), body, context};
  region.handover.open();
#ifdef _OPENMP
#pragma omp parallel num_threads(region.threads)
  {
    // The runtime may give fewer threads than asked for: stride over the chunks.
    for (int i = omp_get_thread_num(); i < region.threads; i += omp_get_num_threads())
      region.run_chunk(i);
  }
#else
  for (int i = 0; i < region.threads; ++i) region.run_chunk(i);
#endif
  region.handover.close();
}

__attribute__((no_sanitize("thread"))) void parallel_team(int threads, TeamBody body,
                                                          const void* context) {
  Team::Meeting meeting;
  if (threads <= 1) {
    Team alone(0, 1, meeting);
    return body(context, alone);
  }
#ifdef _OPENMP
  Handover handover;
  handover.open();
#pragma omp parallel num_threads(threads)
  {
    handover.enter();
    Team team(omp_get_thread_num(), omp_get_num_threads(), meeting);
    body(context, team);
    handover.leave();
  }
  handover.close();
#else
  Team alone(0, 1, meeting);
  body(context, alone);
#endif
}

}  // namespace infini::cpu
