// Threads: the one place that knows OpenMP.
#pragma once

#include <atomic>
#include <cstdint>

namespace infini::cpu {

// The threads that a region may have now: 1 inside another parallel region and in a forked child
// (the OpenMP runtime does not survive a fork).
int available_threads();

using ChunkBody = void (*)(const void* context, int64_t begin, int64_t end);

// Calls body(context, begin, end) for consecutive chunks that cover [0, count), one per thread.
// The body must not throw.
void parallel_chunks(int64_t count, int threads, ChunkBody body, const void* context);

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

// While it lives, regions that this thread opens have no other threads, also those of libraries that
// use the same OpenMP. Nothing that other threads see is changed.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// The library (of dlopen) uses the OpenMP that we use, or none.
bool shares_openmp(void* library);

// One of the threads that work on something together: as many as the runtime gave, not always as many
// as were asked for.
class Team {
 public:
  struct Meeting {
    std::atomic<int> arrived{0}, round{0};
  };
  Team(int rank, int size, Meeting& meeting) : rank_(rank), size_(size), meeting_(meeting) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  // Returns when all have called it; each then sees what the others wrote before.
  void wait();

 private:
  int rank_, size_;
  Meeting& meeting_;
};

using TeamBody = void (*)(const void* context, Team& team);
void parallel_team(int threads, TeamBody body, const void* context);

// body(team) on every thread; it must not throw.
template <class Body>
void parallel_team(int threads, const Body& body) {
  parallel_team(
      threads, [](const void* context, Team& team) { (*static_cast<const Body*>(context))(team); },
      &body);
}

}  // namespace infini::cpu
