// Pins, sections and cells between threads, and through forks.
#include "base/threads/thread_slot.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/cells.h"
#include "base/threads/lazy.h"
#include "base/threads/mutex.h"

namespace infini {
namespace {

struct Head {
  std::atomic<uint32_t> tag;
};
struct Body {
  explicit Body(int v) : value(v), copy(new int(v)) {}
  ~Body() {
    value = -1;
    delete copy;
  }
  int value;
  int* copy;
};
template <Lives lives>
using Bodies = Cells<Head, Body, 79, lives>;

// The child's answer: true when `body` returned true in it within ten seconds.
template <class Run>
bool in_child(Run body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <Lives lives>
void destroy_waits_for_those_who_use_the_object() {
  Bodies<lives> bodies;
  void* handle = bodies.create([](Head&) {}, 7);
  std::atomic<int> stage{0};
  std::thread user([&] {
    const auto pinned = bodies.pin(handle, "h");
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(7, *pinned->copy);
    stage = 3;
  });
  while (stage != 1) std::this_thread::yield();
  stage = 2;
  bodies.destroy(handle, "h");
  EXPECT_EQ(3, stage);
  user.join();
}

TEST(Cells, DestroyWaitsForThoseWhoUseTheObject) {
  destroy_waits_for_those_who_use_the_object<Lives::long_>();
  destroy_waits_for_those_who_use_the_object<Lives::short_>();
}

template <Lives lives>
void objects_are_used_or_refused_while_they_are_destroyed() {
  Bodies<lives> bodies;
  std::atomic<void*> shared{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<int> used{0}, refused{0};
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t)
    users.emplace_back([&] {
      for (; !stop;
           usleep(20)) {  // seldom interrupted in the middle, which the other would wait for
        if (shared == nullptr) continue;
        try {
          const auto pinned = bodies.pin(shared, "h");
          EXPECT_EQ(pinned->value, *pinned->copy) << "a destroyed object was used";
          ++used;
        } catch (const Error&) {
          ++refused;
        }
      }
    });
  for (int i = 0; i < 200 || used < 50 || refused < 50; ++i) {
    void* handle = bodies.create([](Head&) {}, i);
    shared = handle;
    if (i % 4 == 0) std::this_thread::yield();
    bodies.destroy(handle, "h");
  }
  stop = true;
  for (auto& user : users) user.join();
}

TEST(Cells, AreUsedOrRefusedWhileTheyAreDestroyed) {
  objects_are_used_or_refused_while_they_are_destroyed<Lives::long_>();
  objects_are_used_or_refused_while_they_are_destroyed<Lives::short_>();
}

TEST(Cells, OfTwoDestroysOneWins) {
  Bodies<Lives::long_> bodies;
  for (int i = 0; i < 200; ++i) {
    void* handle = bodies.create([](Head&) {}, i);
    std::atomic<int> won{0}, ready{0};
    const auto destroy = [&] {
      for (++ready; ready < 2;) std::this_thread::yield();
      try {
        bodies.destroy(handle, "h");
        ++won;
      } catch (const Error&) {
      }
    };
    std::thread other(destroy);
    destroy();
    other.join();
    ASSERT_EQ(1, won);
  }
}

TEST(Cells, NoAddressIsLookedAtThatCannotBeOne) {
  for (const intptr_t address : {1, 2, 8, 4088, -1, -8, -4096})
    EXPECT_THROW(Bodies<Lives::long_>::pin(reinterpret_cast<void*>(address), "h"), Error)
        << address;
}

TEST(Pins, HaveALimitThatIsAnswered) {
  Bodies<Lives::long_> bodies;
  void* handle = bodies.create([](Head&) {}, 1);
  {
    const auto a = bodies.pin(handle, "h"), b = bodies.pin(handle, "h"),
               c = bodies.pin(handle, "h"), d = bodies.pin(handle, "h"),
               e = bodies.pin(handle, "h");
    EXPECT_THROW(bodies.pin(handle, "h"), Error);
  }
  bodies.destroy(handle, "h");
}

// Two values that are equal whenever nobody is between them.
struct Pair {
  Mutex outer, inner;
  int first = 0, second = 0;

  void step() {
    std::lock_guard lock(outer);
    ++first;
    {
      std::lock_guard nested(inner);
      std::this_thread::yield();
    }
    ++second;
  }
};

TEST(Sections, AreWholeInAChildAndLeaveNoLockBehind) {
  Pair pair;
  Bodies<Lives::long_> bodies;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) {
        pair.step();
        bodies.destroy(bodies.create([](Head&) {}, 1), "h");
      }
    });
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(in_child([&] {
      const bool whole = pair.first == pair.second;
      pair.step();
      bodies.destroy(bodies.create([](Head&) {}, 1), "h");
      return whole && pair.first == pair.second;
    })) << i;
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pair.first, pair.second);
}

TEST(Sections, TwoThreadsMayForkAtOnce) {
  Pair pair;
  const auto forks = [&] {
    for (int i = 0; i < 30; ++i) {
      EXPECT_TRUE(in_child([&] {
        pair.step();
        return pair.first == pair.second;
      }));
      pair.step();
    }
  };
  std::thread other(forks);
  forks();
  other.join();
}

TEST(Sections, AChildForgetsThePinsOfThreadsThatItDoesNotHave) {
  Bodies<Lives::long_> bodies;
  void* handle = bodies.create([](Head&) {}, 7);
  std::atomic<int> stage{0};
  std::thread user([&] {
    const auto pinned = bodies.pin(handle, "h");
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  EXPECT_TRUE(in_child([&] {
    bodies.destroy(handle, "h");
    return true;
  }));
  stage = 2;
  user.join();
  bodies.destroy(handle, "h");
}

// More threads at once, and after each other, than there are slots without allocation.
TEST(Slots, ServeAnyNumberOfThreads) {
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 70; ++t)
      threads.emplace_back([&] {
        pair.step();
        for (++ready; ready < 70;) std::this_thread::yield();
        pair.step();
      });
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(3 * 70 * 2, pair.second);
}

TEST(Lazy, MakesOneForAll) {
  static constinit Lazy<std::vector<int>> lazy;
  std::vector<std::thread> threads;
  std::atomic<std::vector<int>*> seen{nullptr};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      std::vector<int>* mine = &lazy.get();
      std::vector<int>* first = nullptr;
      EXPECT_TRUE(seen.compare_exchange_strong(first, mine) || first == mine);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace infini
