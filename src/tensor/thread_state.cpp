// The calling thread's state.
#include "tensor/thread_state.h"

#include "base/threads/thread_end.h"

namespace infinicore::detail {
namespace {

// A pointer, so that nothing of it is destroyed before the last who may use it: destructors of the
// client's thread_local objects, and for the main thread those of static objects.
constinit thread_local ThreadState* state = nullptr;

// What is destroyed here may be the client's, and use operators: they get a new state, which ends in
// the next round.
void end_state(void* ended) {
  state = nullptr;
  delete static_cast<ThreadState*>(ended);
}

constinit infini::ThreadEnd at_end{end_state};

ThreadState& make_state() {
  auto made = std::make_unique<ThreadState>();
  at_end.set(made.get());
  return *(state = made.release());
}

}  // namespace

void ThreadState::set_stream(const infini::Place& place, void* stream) {
  std::erase_if(streams, [&](const auto& entry) { return entry.first == &place; });
  if (stream != nullptr) streams.emplace_back(&place, stream);
}

ThreadState& this_thread() { return state != nullptr ? *state : make_state(); }

ThreadState* this_thread_if_any() noexcept { return state; }

}  // namespace infinicore::detail
