// Parallel regions by OpenMP.
#include "backends/cpu/parallel.h"

#include <pthread.h>

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

// One region's work. The atomics tell ThreadSanitizer what OpenMP's own (uninstrumented) barriers
// guarantee: the body sees what the caller wrote, and the caller what the body wrote.
struct Region {
  int64_t count;
  int threads;
  ChunkBody body;
  const void* context;
  std::atomic<int> started{0}, finished{0};

  void run_chunk(int index) {
    started.load(std::memory_order_acquire);
    const int64_t begin = count * index / threads, end = count * (index + 1) / threads;
    if (begin < end) body(context, begin, end);
    finished.fetch_add(1, std::memory_order_release);
  }
};

}  // namespace

int available_threads() {
  if (forked.load(std::memory_order_relaxed)) return 1;
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : thread_count();
#else
  return 1;
#endif
}

__attribute__((no_sanitize("thread"))) void parallel_chunks(int64_t count, int threads,
                                                            ChunkBody body, const void* context) {
  Region region{count, static_cast<int>(std::min<int64_t>(threads, count)), body, context};
  region.started.store(1, std::memory_order_release);
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
  region.finished.load(std::memory_order_acquire);
}

}  // namespace infini::cpu
