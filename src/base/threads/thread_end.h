// What a thread leaves behind, ended after all its thread_local objects are gone. The main thread's never
// is: destructors of static objects may still use it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace infini {

// To be constinit. What set() was given for a thread is given to `end` at that thread's end, and so is
// what is set during ends (a few rounds long). Where the system has no room for it, nothing is ended.
class ThreadEnd {
 public:
  constexpr explicit ThreadEnd(void (*end)(void*)) : end_(end) {}
  ThreadEnd(const ThreadEnd&) = delete;
  ThreadEnd& operator=(const ThreadEnd&) = delete;

  void set(void* value) {
    if (key_.load(std::memory_order_acquire) == none) make_key();
    const uint64_t key = key_.load(std::memory_order_acquire);
    if (key != none) pthread_setspecific(static_cast<pthread_key_t>(key), value);
  }

 private:
  static constexpr uint64_t none = UINT64_MAX;

  void make_key() {  // of several threads the first wins
    pthread_key_t made;
    uint64_t expected = none;
    if (pthread_key_create(&made, end_) != 0) return;
    if (!key_.compare_exchange_strong(expected, made)) pthread_key_delete(made);
  }

  void (*end_)(void*);
  std::atomic<uint64_t> key_{none};
};

}  // namespace infini
