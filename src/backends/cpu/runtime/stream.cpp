// Recordings and the tables of streams, events and graphs.
#include "backends/cpu/runtime/stream.h"

#include "backends/cpu/runtime/memory.h"

namespace infini::cpu {

void Recording::add(Work work) {
  std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
}

void Recording::keep_until_destroyed(void* block) {
  std::lock_guard lock(mutex_);
  blocks_.push_back(block);
}

void Recording::replay() const {
  for (const Work& work : work_) work();
}

Recording::~Recording() {
  for (void* block : blocks_) {
    try {
      deallocate(block);
    } catch (...) {  // freed by its user meanwhile; nothing is left to do
    }
  }
}

std::shared_ptr<Recording> Stream::capture() {
  if (!in_capture.load(std::memory_order_acquire)) return nullptr;
  std::lock_guard lock(mutex);
  if (recording && recording->ended()) {  // a joined stream leaves when the origin ends
    recording.reset();
    in_capture = false;
  }
  return recording;
}

namespace {
template <class Table>
Table& table() {
  static auto* all = new Table;
  return *all;
}
}  // namespace

Streams& streams() { return table<Streams>(); }
Events& events() { return table<Events>(); }
Graphs& graphs() { return table<Graphs>(); }
GraphExecs& graph_execs() { return table<GraphExecs>(); }

}  // namespace infini::cpu
