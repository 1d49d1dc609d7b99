// An object for the whole process, made when it is first asked for and never destroyed, without a lock:
// destructors of static objects, and a child of fork(), may go on using it.
#pragma once

#include <atomic>
#include <memory>

namespace infini {

// To be constinit. Of several threads that ask first, each makes one and the first to finish wins.
template <class T>
class Lazy {
 public:
  T& get() {
    T* known = object_.load(std::memory_order_acquire);
    if (known != nullptr) [[likely]]
      return *known;
    auto made = std::make_unique<T>();
    if (object_.compare_exchange_strong(known, made.get())) known = made.release();
    return *known;
  }

 private:
  std::atomic<T*> object_{nullptr};
};

}  // namespace infini
