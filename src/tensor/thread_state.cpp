// The calling thread's state.
#include "tensor/thread_state.h"

namespace infinicore::detail {

void ThreadState::set_stream(const infini::Place& place, void* stream) {
  std::erase_if(streams, [&](const auto& entry) { return entry.first == &place; });
  if (stream != nullptr) streams.emplace_back(&place, stream);
}

ThreadState& this_thread() {
  thread_local ThreadState state;
  return state;
}

}  // namespace infinicore::detail
