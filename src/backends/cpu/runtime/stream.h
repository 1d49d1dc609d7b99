// CPU streams, events and graphs.
//
// Streams are synchronous: work runs in the calling thread before the call returns. The exception is
// a stream that is being captured: its work is put into a recording, and runs when the graph made of
// that recording is launched. A stream that waits for an event of a capturing stream joins its
// recording, as on CUDA; the order of submission is then the order of replay.
//
// A capture whose origin is destroyed is lost: it can never become a graph. Whatever is asked of a
// stream that joined it fails, so that no work vanishes, until the capture is ended there, too.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/cells.h"
#include "base/threads/mutex.h"

namespace infini::cpu {

using Work = std::function<void()>;

// A list of work in the order of its submission.
class Recording {
 public:
  enum class State { open, ended, lost };

  State state() const { return state_.load(std::memory_order_acquire); }
  // These two throw unless it is open.
  void add(Work work);
  // Memory freed during capture belongs to the recording from then on, and lives as long as the graph
  // does. Throws when it is not a live block of the device.
  void take(void* block);
  void end();
  // Forgets all work.
  void lose() noexcept;
  void replay() const;
  ~Recording();

 private:
  void require_open() const;

  mutable Mutex mutex_;  // several streams may add; held when state_ changes
  std::vector<Work> work_;
  std::vector<void*> blocks_;
  std::atomic<State> state_ = State::open;
};

struct Stream {
  ~Stream();
  // The recording that work goes to, or null when it is to be run now. Throws when it is lost.
  std::shared_ptr<Recording> capture();

  Mutex mutex;                           // guards recording and is_origin
  std::atomic<bool> in_capture = false;  // quick look before the lock
  std::shared_ptr<Recording> recording;
  bool is_origin = false;  // the stream on which the capture was begun
};

struct EventState {
  explicit EventState(bool timed) : timed(timed) {}
  const bool timed;
  Mutex mutex;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Recording> recording;  // of the capture it was recorded in, else null
};

using Event = std::shared_ptr<EventState>;  // captured work marks it as long as its handle lives
using Graph = std::shared_ptr<Recording>;

struct ObjectHead {
  std::atomic<uint32_t> tag;
};
using Streams = Cells<ObjectHead, Stream, 0x73747265, Lives::long_>;
using Events = Cells<ObjectHead, Event, 0x65766e74>;
using Graphs = Cells<ObjectHead, Graph, 0x67726170>;
using GraphExecs = Cells<ObjectHead, Graph, 0x65786563>;

Streams& streams();
Events& events();
Graphs& graphs();
GraphExecs& graph_execs();

// The recording of a stream handle (null stream: never captured), checked.
inline std::shared_ptr<Recording> capture_of(void* stream) {
  return stream == nullptr ? nullptr : Streams::pin(stream, "stream")->capture();
}

}  // namespace infini::cpu
