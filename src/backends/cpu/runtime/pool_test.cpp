// The pool and its regions: everything is done once, whoever comes; callers, forks and ends do not disturb one another.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "backends/cpu/runtime/parallel.h"
#include "backends/cpu/runtime/pool.h"
#include "base/error.h"
#include "base/threads/executor.h"
#include "base/threads/thread_count.h"

namespace infini::cpu {
namespace {

class Pool : public testing::Test {
 protected:
  void SetUp() override { set_thread_count(4); }
  void TearDown() override {
    set_executor(nullptr);
    set_thread_count(0);
  }
};

// How often each of [0, count) was visited by a region.
std::vector<int> visits(int64_t count, int threads) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
  parallel_for(count, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  return {seen.begin(), seen.end()};
}

void expect_regions_work() {
  for (const int threads : {1, 2, 3, 4, 7, 64, 65, 200})
    for (const int64_t count : {0, 1, 2, 3, 63, 64, 65, 1000})
      EXPECT_EQ(std::vector<int>(static_cast<size_t>(count), 1), visits(count, threads))
          << count << " on " << threads;
}

TEST_F(Pool, DoesEverythingOnce) {
  for (int run = 0; run < 5; ++run) expect_regions_work();
}

TEST_F(Pool, CutsAsManyChunksAsThreads) {
  std::atomic<int> chunks{0};
  std::atomic<int64_t> longest{0};
  parallel_for(10, 4, [&](int64_t begin, int64_t end) {
    ++chunks;
    if (end - begin == 3) ++longest;
    EXPECT_LE(end - begin, 3);
  });
  EXPECT_EQ(4, chunks);
  EXPECT_EQ(2, longest);
}

TEST_F(Pool, UsesOtherThreads) {
  for (int tries = 0; tries < 1000; ++tries) {  // until one comes in time
    std::atomic<int> others{0};
    const auto caller = std::this_thread::get_id();
    parallel_for(4, 4, [&](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (std::this_thread::get_id() != caller) ++others;
    });
    if (others > 0) return;
  }
  FAIL() << "the caller did everything itself a thousand times";
}

TEST_F(Pool, NestedRegionsHaveOneThread) {
  EXPECT_EQ(4, available_threads());
  std::atomic<int> wrong{0};
  parallel_for(4, 4, [&](int64_t, int64_t) {
    const auto here = std::this_thread::get_id();
    wrong += available_threads() != 1;
    parallel_for(4, 4, [&](int64_t, int64_t) { wrong += std::this_thread::get_id() != here; });
  });
  EXPECT_EQ(0, wrong);
  EXPECT_EQ(4, available_threads());
}

TEST_F(Pool, ServesManyCallersAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int run = 0; run < 300; ++run) wrong += visits(17, 4) != std::vector<int>(17, 1);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(0, wrong);
}

// Waits for a condition that other threads bring about.
void await(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

// A worker that is kept by one caller is no concern of another's.
TEST_F(Pool, WaitsForNobodyWhoHasNotCome) {
  std::atomic<int> kept{0};
  std::atomic<bool> release{false};
  std::thread keeper([&] {
    parallel_for(4, 4, [&](int64_t, int64_t) {
      ++kept;
      await([&] { return release.load(); });
    });
  });
  await([&] { return kept > 0; });
  for (int run = 0; run < 100; ++run) EXPECT_EQ(std::vector<int>(9, 1), visits(9, 4));
  parallel_team(4, [&](Team& team) {
    for (int stage = 0; stage < 10; ++stage) {
      team.share(8, [](int64_t) {});
      team.wait();
    }
  });
  release = true;
  keeper.join();
}

TEST_F(Pool, LeavesSignalsToTheClient) {
  std::atomic<int> wrong{0};
  const pthread_t caller = pthread_self();
  for (int run = 0; run < 100; ++run)
    parallel_for(4, 4, [&](int64_t, int64_t) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (pthread_equal(caller, pthread_self())) return;
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD, SIGALRM})
        wrong += sigismember(&mask, signal) != 1;
      for (const int signal : {SIGSEGV, SIGFPE}) wrong += sigismember(&mask, signal) != 0;
    });
  EXPECT_EQ(0, wrong);
}

// What a stage wrote is seen by all of the next: prefix sums of prefix sums, whoever computes them.
void expect_stages_work(int threads, int pause_us) {
  constexpr int64_t width = 13, stages = 40;
  std::vector<int64_t> rows[2] = {std::vector<int64_t>(width, 1), std::vector<int64_t>(width)};
  std::vector<int64_t> expected(width, 1);
  for (int64_t stage = 0; stage < stages; ++stage) {
    std::partial_sum(expected.begin(), expected.end(), expected.begin());
    for (int64_t& value : expected) value %= 1000003;
  }
  parallel_team(threads, [&](Team& team) {
    EXPECT_LT(team.rank(), team.threads());
    for (int64_t stage = 0; stage < stages; ++stage) {
      const auto &from = rows[stage % 2], &before = rows[(stage + 1) % 2];
      auto& to = const_cast<std::vector<int64_t>&>(before);
      team.share(width, [&](int64_t i) {
        int64_t sum = 0;
        for (int64_t j = 0; j <= i; ++j) sum += from[static_cast<size_t>(j)];
        if (pause_us > 0 && i % 5 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        to[static_cast<size_t>(i)] = sum % 1000003;
      });
      team.wait();
    }
  });
  EXPECT_EQ(expected, rows[stages % 2]);
}

TEST_F(Pool, TeamsSeeTheStagesBefore) {
  for (const int threads : {1, 2, 3, 4})
    for (int run = 0; run < 30; ++run) expect_stages_work(threads, 0);
  expect_stages_work(4, 20);
  expect_stages_work(4, 300);  // long enough to fall asleep
}

// More members than processors, and stages of which some outlast the patience of those who wait: members are taken off
// their processors at any place, also between asking what is done and falling asleep.
TEST_F(Pool, NoMemberSleepsThroughTheLastStage) {
  set_thread_count(8);
  for (int run = 0; run < 60; ++run)
    parallel_team(8, [&](Team& team) {
      auto random = static_cast<unsigned>(run * 7919 + team.rank());
      for (int stage = 0; stage < 60; ++stage) {
        team.share(1 + stage % 3, [&](int64_t) {
          random = random * 1664525u + 1013904223u;
          if (random >> 29 == 0) std::this_thread::sleep_for(std::chrono::microseconds(150));
        });
        team.wait();
      }
    });
}

TEST_F(Pool, StagesOfATeamMayBeEmpty) {
  std::atomic<int> done{0};
  parallel_team(4, [&](Team& team) {
    for (const int64_t count : {0, 3, 0, 0, 2}) team.share(count, [&](int64_t) { ++done; });
    team.wait();
    EXPECT_EQ(5, done);
  });
  EXPECT_EQ(5, done);
}

// Ranks name a thread's memory.
TEST_F(Pool, NoTwoMembersHaveOneRank) {
  std::atomic<int> wrong{0};
  std::atomic<bool> used[4] = {};
  for (int run = 0; run < 200; ++run)
    parallel_team(4, [&](Team& team) {
      wrong += used[team.rank()].exchange(true);
      team.share(20, [](int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(5)); });
      used[team.rank()] = false;
    });
  EXPECT_EQ(0, wrong);
}

using Task = void (*)(void*, int);

void expect_executor_works(void (*parallel)(void*, int, Task, void*), void* user = nullptr) {
  const infiniExecutor_t executor{sizeof(infiniExecutor_t), user, parallel};
  set_executor(&executor);
  expect_regions_work();
  for (int run = 0; run < 10; ++run) expect_stages_work(4, 0);
  set_executor(nullptr);
}

TEST_F(Pool, TakesAnExecutorThatIsOneThread) {
  expect_executor_works([](void*, int count, Task task, void* context) {
    for (int i = count - 1; i >= 0; --i) task(context, i);
  });
}

TEST_F(Pool, TakesAnExecutorThatDoesNotDoEverything) {
  expect_executor_works([](void*, int, Task, void*) {});
  expect_executor_works([](void*, int count, Task task, void* context) {
    for (int i = -1; i <= count; i += 2) task(context, i);  // and asks for what there is not
  });
}

TEST_F(Pool, TakesAnExecutorWithThreads) {
  std::atomic<int> calls{0};
  expect_executor_works(
      [](void* user, int count, Task task, void* context) {
        ++*static_cast<std::atomic<int>*>(user);
        std::vector<std::thread> threads;
        for (int i = 0; i < count; ++i) threads.emplace_back(task, context, i);
        for (std::thread& thread : threads) thread.join();
      },
      &calls);
  EXPECT_GT(calls, 0);
  const int before = calls;
  expect_regions_work();
  EXPECT_EQ(before, calls) << "it was taken back";
}

TEST_F(Pool, RegionsInAnExecutorsThreadsAreNested) {
  const infiniExecutor_t executor{sizeof(infiniExecutor_t), nullptr,
                                  [](void*, int count, Task task, void* context) {
                                    for (int i = 0; i < count; ++i)
                                      std::thread(task, context, i).join();
                                  }};
  set_executor(&executor);
  std::atomic<int> wrong{0};
  parallel_for(4, 4, [&](int64_t, int64_t) { wrong += available_threads() != 1; });
  EXPECT_EQ(0, wrong);
  EXPECT_EQ(4, available_threads());
}

TEST_F(Pool, RefusesAnExecutorThatIsNone) {
  infiniExecutor_t executor{};
  EXPECT_THROW(set_executor(&executor), Error);
  executor.size = sizeof executor;
  EXPECT_THROW(set_executor(&executor), Error);
  EXPECT_EQ(nullptr, current_executor());
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer);
#else
constexpr bool sanitized = false;
#endif

// ThreadSanitizer does not follow threads that a child of fork() makes.
#if !defined(__SANITIZE_THREAD__)

// The exit status of a child that runs the body; -1 if it was killed, as by its alarm.
int in_a_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A region that allocates nothing: sanitizers' allocators do not survive a fork in the middle of their work.
bool region_works() {
  std::atomic<int> seen[50] = {};
  parallel_for(50, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[i];
  });
  return std::all_of(std::begin(seen), std::end(seen),
                     [](const auto& times) { return times == 1; });
}

bool others_come(int most_tries = 1000) {
  for (int tries = 0; tries < most_tries; ++tries) {
    std::atomic<int> ranks{0};
    gather(
        3,
        [](void* context, int rank) {
          static_cast<std::atomic<int>*>(context)->fetch_or(1 << rank);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        &ranks);
    if (ranks == 7) return true;
  }
  return false;
}

TEST_F(Pool, StartsAgainInAForkedChild) {
  ASSERT_TRUE(others_come());
  EXPECT_EQ(0, in_a_child([] { return others_come() ? 0 : 1; }));
  EXPECT_EQ(0, in_a_child([] { return in_a_child([] { return others_come() ? 0 : 1; }); }));
}

TEST_F(Pool, SurvivesForksWhileItWorks) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      while (!stop) region_works();
    });
  int failed = 0;
  for (int child = 0; child < 60; ++child)
    failed += in_a_child([] { return region_works() ? 0 : 1; }) != 0;
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(0, failed);
}

// exit() in the middle of other threads' regions, which then go on alone.
TEST_F(Pool, EndsWhileItWorks) {
  for (int run = 0; run < 10; ++run)
    EXPECT_EQ(7, in_a_child([]() -> int {
                for (int i = 0; i < 3; ++i)
                  std::thread([] {
                    for (;;) region_works();
                  }).detach();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                exit(7);
              }));
}

// A limit on what the process may have, for the rest of a child's life.
bool limit(int resource, rlim_t value) {
  const rlimit wanted{value, value};
  return setrlimit(static_cast<__rlimit_resource>(resource), &wanted) == 0;
}

TEST_F(Pool, WorksWhereNoThreadCanBeMade) {
  const int status = in_a_child([] {
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 77;  // root has no such limit
    if (!limit(RLIMIT_NPROC, 1)) return 77;
    if (visits(1000, 64) != std::vector<int>(1000, 1)) return 1;
    return others_come(20) ? 2 : 0;
  });
  if (status == 77) GTEST_SKIP() << "the limit cannot be set here";
  EXPECT_EQ(0, status);
}

TEST_F(Pool, WorksWhereMemoryForThreadsIsShort) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's own memory is beyond every limit";
  EXPECT_EQ(0, in_a_child([] {
              std::vector<int> warm = visits(1000, 1);
              if (!limit(RLIMIT_AS, 64 << 20)) return 77;
              return visits(1000, 200) == warm && visits(1000, 200) == warm ? 0 : 1;
            }));
}
#endif

}  // namespace
}  // namespace infini::cpu
