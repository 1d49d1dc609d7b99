// CPU streams, events and graphs.
//
// Streams are synchronous: work runs in the calling thread before the call returns. The exception is
// a stream that is being captured: its work is put into a recording, and runs when the graph made of
// that recording is launched. A stream that waits for an event of a capturing stream joins its
// recording, as on CUDA; the order of submission is then the order of replay.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/cells.h"

namespace infini::cpu {

using Work = std::function<void()>;

// A list of work in the order of its submission.
class Recording {
 public:
  void add(Work work);
  // Memory freed during capture lives as long as the graph does.
  void keep_until_destroyed(void* block);
  void end() { ended_ = true; }
  bool ended() const { return ended_; }
  void replay() const;
  ~Recording();

 private:
  std::mutex mutex_;  // several streams may add
  std::vector<Work> work_;
  std::vector<void*> blocks_;
  std::atomic<bool> ended_ = false;
};

struct Stream {
  std::mutex mutex;                      // guards recording
  std::atomic<bool> in_capture = false;  // quick look before the lock
  std::shared_ptr<Recording> recording;
  bool is_origin = false;  // the stream on which the capture was begun

  // The recording that work goes to, or null when it is to be run now.
  std::shared_ptr<Recording> capture();
};

struct Event {
  explicit Event(bool timed) : timed(timed) {}
  const bool timed;
  std::mutex mutex;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Recording> recording;  // of the capture it was recorded in, else null
};

using Graph = std::shared_ptr<Recording>;

struct ObjectHead {
  std::atomic<uint32_t> tag;
};
using Streams = Cells<ObjectHead, Stream, 0x73747265>;
using Events = Cells<ObjectHead, Event, 0x65766e74>;
using Graphs = Cells<ObjectHead, Graph, 0x67726170>;
using GraphExecs = Cells<ObjectHead, Graph, 0x65786563>;

Streams& streams();
Events& events();
Graphs& graphs();
GraphExecs& graph_execs();

// The recording of a stream handle (null stream: never captured), checked.
inline std::shared_ptr<Recording> capture_of(void* stream) {
  return stream == nullptr ? nullptr : Streams::get(stream, "stream").capture();
}

}  // namespace infini::cpu
