// Parallel regions: loops that are cut into chunks, and teams that work through stages together.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/export.h"

namespace infini::cpu {

// The threads that a region may have now: 1 inside another one.
int available_threads();

using ChunkBody = void (*)(const void* context, int64_t begin, int64_t end);

// Calls body(context, begin, end) once for each of so many consecutive chunks, which cover [0, count): on a thread of its
// own where that comes in time, else on whichever is done with its own. The body must not throw.
INFINI_TOOL_EXPORT void parallel_chunks(int64_t count, int threads, ChunkBody body,
                                        const void* context);

// body(begin, end), as above; no allocation, the body is called by reference.
template <class Body>
void parallel_for(int64_t count, int threads, const Body& body) {
  if (threads <= 1 || count <= 1) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  parallel_chunks(
      count, threads,
      [](const void* context, int64_t begin, int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      &body);
}

// Tasks for threads that are not equally fast: each has a share of neighbours, the same in every run, whose memory stays
// in its caches; who has done with it takes from the others'.
class Shares {
 public:
  Shares(int64_t tasks, int threads) : count_(threads < most ? threads : most) {
    for (int i = 0; i < count_; ++i) {
      shares_[i].next.store(tasks * i / count_, std::memory_order_relaxed);
      shares_[i].end = tasks * (i + 1) / count_;
    }
  }
  // body(task, whether the next one is likely to be task + 1), for all that this thread gets.
  template <class Body>
  void take(int64_t thread, const Body& body) {
    for (int i = 0; i < count_; ++i) {
      Share& share = shares_[(thread + i) % count_];
      for (int64_t task; (task = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
        body(task, task + 1 < share.end);
    }
  }

 private:
  static constexpr int most = 32;
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  int count_;
  Share shares_[most];
};

// One of the threads that work on something together, in stages: every member goes through the same ones. Nobody waits
// for a member that has not come yet, only for tasks that somebody has begun, so that one thread is enough and more may
// come at any time.
class Team {
 public:
  // Of all members together. Tasks are counted through all stages.
  struct Progress {
    alignas(64) std::atomic<int64_t> claimed{0};
    alignas(64) std::atomic<int64_t> done{0};
    std::atomic<int64_t> awaited{-1};  // sleepers wait for so many to be done, or for less
    std::atomic<uint32_t> bell{0};
  };
  Team(int rank, int threads, Progress& progress)
      : rank_(rank), threads_(threads), progress_(progress) {}
  int rank() const { return rank_; }        // below threads(); no two at a time have the same
  int threads() const { return threads_; }  // the most that may come, not those that are there

  // A stage: body(task) for those tasks of 0 to count - 1 that this member gets. Returns when all are begun.
  template <class Body>
  void share(int64_t count, const Body& body) {
    planned_ += count;
    for (int64_t task; (task = claim()) < planned_;) {
      body(task - (planned_ - count));
      finish_task();
    }
  }
  // Returns when all tasks of the stages so far are done; this member then sees what the others wrote in them.
  void wait();

 private:
  // The next task, unless it belongs to a stage that this member has not reached.
  int64_t claim() {
    int64_t task = progress_.claimed.load(std::memory_order_relaxed);
    while (task < planned_ &&
           !progress_.claimed.compare_exchange_weak(task, task + 1, std::memory_order_relaxed)) {
    }
    return task;
  }
  void finish_task();
  void ring();

  int rank_, threads_;
  Progress& progress_;
  int64_t planned_ = 0;  // tasks of the stages so far
};

using TeamBody = void (*)(const void* context, Team& team);
void parallel_team(int threads, TeamBody body, const void* context);

// body(team) on this thread and on those that come; it must not throw.
template <class Body>
void parallel_team(int threads, const Body& body) {
  parallel_team(
      threads, [](const void* context, Team& team) { (*static_cast<const Body*>(context))(team); },
      &body);
}

}  // namespace infini::cpu
