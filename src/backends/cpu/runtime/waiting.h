// Waiting for another thread: a short while at full attention, then asleep until woken. Spinning is faster by tens of
// microseconds while every thread has a processor, and takes processors away from those that work where it has not.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace infini::cpu {

// Sleeps while the word has this value; may return early. 32 bits, as the kernel wants it.
inline void sleep_on(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

// The address alone is used: its memory may be gone already, as when a sleeper saw the change before it was woken.
inline void wake_sleepers(const void* word, int count = INT_MAX) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

inline int64_t nanoseconds_now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// Who spins sees by the clock when its processor was given to others for a while. (Half a millisecond: interrupts and
// daemons take less, time slices more.) Until this time nobody spins for long.
inline std::atomic<int64_t> crowded_until{0};

struct Patience {
  int64_t quiet, crowded;  // nanoseconds
  bool polite;  // offers its processor to others meanwhile: where nothing is lost if they take it
};

// True as soon as done() is; false when patience is at an end.
template <class Done>
bool spin_until(const Done& done, const Patience& patience) {
  constexpr int64_t away = 500'000, crowded_for = 10'000'000;
  if (done()) return true;
  const int64_t start = nanoseconds_now();
  const bool crowded = start < crowded_until.load(std::memory_order_relaxed);
  const int64_t end = start + (crowded ? patience.crowded : patience.quiet);
  for (int64_t before = start; before < end;) {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      pause_briefly();
    }
    if (patience.polite) sched_yield();
    const int64_t now = nanoseconds_now();
    if (now - before > away) {
      crowded_until.store(now + crowded_for, std::memory_order_relaxed);
      break;
    }
    before = now;
  }
  return done();
}

}  // namespace infini::cpu
