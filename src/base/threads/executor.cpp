// The executor: an atomic pointer to one of those that were ever set. They are few, and kept, since an operator of another
// thread may be using one.
#include "base/threads/executor.h"

#include <atomic>

#include "base/error.h"

namespace infini {
namespace {

struct Known {
  Executor executor;
  Known* next;
};

std::atomic<Known*> known{nullptr};
std::atomic<const Executor*> current{nullptr};

const Executor* find_or_add(const Executor& wanted) {
  Known* first = known.load(std::memory_order_acquire);
  for (Known* at = first; at != nullptr; at = at->next)
    if (at->executor.parallel == wanted.parallel && at->executor.user == wanted.user)
      return &at->executor;
  auto* added = new Known{wanted, first};
  while (!known.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
  }
  return &added->executor;
}

}  // namespace

const Executor* current_executor() { return current.load(std::memory_order_acquire); }

void set_executor(const infiniExecutor_t* executor) {
  if (executor == nullptr) return current.store(nullptr, std::memory_order_release);
  require(executor->size >= sizeof(infiniExecutor_t), INFINI_STATUS_BAD_PARAM, "executor->size is ",
          executor->size, "; expected sizeof(infiniExecutor_t), ", sizeof(infiniExecutor_t));
  require_pointer(reinterpret_cast<const void*>(executor->parallel), "executor->parallel");
  current.store(find_or_add({executor->parallel, executor->user}), std::memory_order_release);
}

}  // namespace infini
