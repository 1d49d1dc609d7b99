// Parallel regions over the pool: chunks are claimed by bits, the tasks of a team by a counter.
#include "backends/cpu/runtime/parallel.h"

#include <algorithm>

#include "backends/cpu/runtime/pool.h"
#include "backends/cpu/runtime/waiting.h"
#include "base/threads/thread_count.h"

namespace infini::cpu {
namespace {

constexpr Patience stage_patience{100'000, 10'000,
                                  false};  // of a member for the last tasks of a stage

// Chunks for so many threads. Each begins with its own, the same in every run, whose memory is in its caches.
class Chunks {
 public:
  Chunks(int64_t count, int chunks, ChunkBody body, const void* context)
      : count_(count), chunks_(chunks), body_(body), context_(context) {}

  // The threads of the highest ranks are the last to come: their chunks are the first to be taken by others.
  void run(int rank) {
    for (int i = rank; i >= 0; --i) run_chunk(i);
    for (int i = chunks_ - 1; i > rank; --i) run_chunk(i);
  }

 private:
  void run_chunk(int index) {
    std::atomic<uint64_t>& word = taken_[index / 64];
    const uint64_t bit = uint64_t{1} << index % 64;
    if ((word.load(std::memory_order_relaxed) & bit) != 0 ||
        (word.fetch_or(bit, std::memory_order_relaxed) & bit) != 0)
      return;
    body_(context_, count_ * index / chunks_, count_ * (index + 1) / chunks_);
  }

  int64_t count_;
  int chunks_;
  ChunkBody body_;
  const void* context_;
  std::atomic<uint64_t> taken_[max_thread_count / 64] = {};
};

}  // namespace

int available_threads() { return is_gathered() ? 1 : thread_count(); }

void parallel_chunks(int64_t count, int threads, ChunkBody body, const void* context) {
  const int most = std::min(threads, max_thread_count);
  const int parts = static_cast<int>(std::min<int64_t>(most, count));
  Chunks chunks(count, parts, body, context);
  gather(
      parts, [](void* given, int rank) { static_cast<Chunks*>(given)->run(rank); }, &chunks);
}

void Team::finish_task() {
  const int64_t done = progress_.done.fetch_add(1) + 1;
  if (progress_.awaited.load() == done) ring();
}

void Team::ring() {
  progress_.bell.fetch_add(1);
  wake_sleepers(&progress_.bell);
}

// Nobody gets beyond this before all tasks of the stages so far are done. What is awaited only grows: a member that was away
// since an earlier stage does not hide what the others sleep for. Who raises it has passed what was awaited before, and
// wakes those who sleep for that: the thread that finished the last of it may look too late and see the new number.
void Team::wait() {
  const auto all_done = [&] { return progress_.done.load() >= planned_; };
  if (spin_until(all_done, stage_patience)) return;
  for (;;) {
    const uint32_t rung = progress_.bell.load();
    int64_t before = progress_.awaited.load();
    while (before < planned_ && !progress_.awaited.compare_exchange_weak(before, planned_)) {
    }
    if (before >= 0 && before < planned_) ring();
    if (all_done()) return;
    sleep_on(progress_.bell, rung);
  }
}

void parallel_team(int threads, TeamBody body, const void* context) {
  struct Members {
    int threads;
    TeamBody body;
    const void* context;
    Team::Progress progress{};
  } members{threads, body, context};
  gather(
      threads,
      [](void* given, int rank) {
        Members& of = *static_cast<Members*>(given);
        Team team(rank, of.threads, of.progress);
        of.body(of.context, team);
      },
      &members);
}

}  // namespace infini::cpu
