// Asking again and again until something goes on.
#pragma once

#include <thread>

#include "reshard/wire/wire.h"

namespace infini {

// How long nothing went on. Yields: the one that is waited for may need this core.
class Waiting {
 public:
  explicit Waiting(double timeout) : timeout_(timeout) {}
  void over() { times_ = 0; }
  // False: as long as the timeout.
  bool again() {
    constexpr int spins = 200;
    if (times_++ == 0) deadline_ = after_seconds(timeout_);
    if (times_ < spins) return true;
    std::this_thread::yield();
    return Clock::now() < deadline_;
  }

 private:
  const double timeout_;
  int64_t times_ = 0;
  Deadline deadline_;
};

}  // namespace infini
