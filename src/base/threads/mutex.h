// The library's lock: a mutex whose sections are whole in a child of fork().
#pragma once

#include <mutex>

#include "base/threads/thread_slot.h"

namespace infini {

// For std::lock_guard and std::unique_lock. Never held while client code runs.
class Mutex {
 public:
  void lock() {
    Section::enter();
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    Section::leave();
  }

 private:
  std::mutex mutex_;
};

}  // namespace infini
