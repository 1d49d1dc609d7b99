// Recordings and the tables of streams, events and graphs.
#include "backends/cpu/runtime/stream.h"

#include "backends/cpu/runtime/memory.h"
#include "base/threads/lazy.h"

namespace infini::cpu {

void Recording::require_open() const {
  require(state_ == State::open, INFINI_STATUS_BAD_PARAM,
          "the capture that stream took part in has ended meanwhile");
}

void Recording::add(Work work) {
  std::lock_guard lock(mutex_);
  require_open();
  work_.push_back(std::move(work));
}

void Recording::take(void* block) {
  std::lock_guard lock(mutex_);
  require_open();
  blocks_.reserve(blocks_.size() + 1);  // nothing may fail once the block is ours
  disown(block);
  blocks_.push_back(block);
}

void Recording::end() {
  std::lock_guard lock(mutex_);
  state_ = State::ended;
}

void Recording::lose() noexcept {
  std::vector<Work> dropped;  // destroyed after the lock is gone
  std::lock_guard lock(mutex_);
  state_ = State::lost;
  dropped.swap(work_);
}

void Recording::replay() const {
  for (const Work& work : work_) work();
}

Recording::~Recording() {
  for (void* block : blocks_) free_disowned(block);
}

Stream::~Stream() {
  if (is_origin) recording->lose();
}

std::shared_ptr<Recording> Stream::capture() {
  if (!in_capture.load(std::memory_order_acquire)) return nullptr;
  std::lock_guard lock(mutex);
  if (!recording) return nullptr;
  require(
      recording->state() != Recording::State::lost, INFINI_STATUS_BAD_PARAM,
      "the capture that stream joined is lost, because the stream it was begun on was destroyed; "
      "end it on this stream, too, before using it again");
  if (recording->state() == Recording::State::ended) {  // a joined stream leaves with the origin
    recording.reset();
    in_capture = false;
  }
  return recording;
}

namespace {
template <class Table>
Table& table() {
  static constinit Lazy<Table> all;
  return all.get();
}
}  // namespace

Streams& streams() { return table<Streams>(); }
Events& events() { return table<Events>(); }
Graphs& graphs() { return table<Graphs>(); }
GraphExecs& graph_execs() { return table<GraphExecs>(); }

}  // namespace infini::cpu
