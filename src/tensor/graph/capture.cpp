// Capturing steps: one private stream per lane, joined by events.
#include "tensor/graph/capture.h"

#include <algorithm>

#include "tensor/graph/lanes.h"

namespace infinicore::detail {
namespace {

// Streams and events for one capture only, so that no other work can get into it.
class Capture {
 public:
  Capture(infini::Device& device, const std::vector<const Step*>& steps)
      : device_(device), steps_(steps), plan_(plan_lanes(steps)), done_(steps.size()) {
    size_t lanes = 1;
    for (const LaneStep& step : plan_) lanes = std::max(lanes, step.lane + 1);
    streams_.reserve(lanes);
    while (streams_.size() < lanes) streams_.push_back(device.create_stream());
  }
  ~Capture() {
    quietly([&] {
      if (open_) device_.destroy_graph(device_.end_capture(streams_[0]));
    });
    for (void* event : events_) quietly([&] { device_.destroy_event(event); });
    for (void* stream : streams_) quietly([&] { device_.destroy_stream(stream); });
  }
  Capture(const Capture&) = delete;

  // Relaxed: the streams are private, and other threads may go on as they like.
  void* record() {
    device_.begin_capture(streams_[0], INFINIRT_STREAM_CAPTURE_MODE_RELAXED);
    open_ = true;
    if (streams_.size() > 1) fork();
    for (size_t i = 0; i < steps_.size(); ++i) record(i);
    join();
    open_ = false;
    return device_.end_capture(streams_[0]);
  }

 private:
  template <class Body>
  static void quietly(Body body) {
    try {
      body();
    } catch (...) {  // in a destructor: the first failure has been told
    }
  }

  void* mark(void* stream) {
    events_.reserve(events_.size() + 1);
    events_.push_back(device_.create_event(INFINIRT_EVENT_DISABLE_TIMING));
    device_.record_event(events_.back(), stream);
    return events_.back();
  }
  void fork() {
    void* begun = mark(streams_[0]);
    for (size_t lane = 1; lane < streams_.size(); ++lane)
      device_.stream_wait_event(streams_[lane], begun);
  }
  void record(size_t i) {
    void* stream = streams_[plan_[i].lane];
    for (const size_t before : plan_[i].waits) device_.stream_wait_event(stream, done(before));
    steps_[i]->run(stream);
    if (streams_.size() > 1) done_[i] = mark(stream);
  }
  void* done(size_t i) const { return done_[i]; }
  void join() {
    for (size_t lane = 1; lane < streams_.size(); ++lane)
      for (size_t i = plan_.size(); i-- > 0;) {
        if (plan_[i].lane != lane) continue;
        device_.stream_wait_event(streams_[0], done(i));
        break;
      }
  }

  infini::Device& device_;
  const std::vector<const Step*>& steps_;
  std::vector<LaneStep> plan_;
  std::vector<void*> streams_, events_;
  std::vector<void*> done_;  // by step: the event behind it
  bool open_ = false;
};

}  // namespace

void* capture_steps(infini::Device& device, const std::vector<const Step*>& steps) {
  return Capture(device, steps).record();
}

}  // namespace infinicore::detail
