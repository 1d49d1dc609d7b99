// The CPU as a device: synchronous streams, steady-clock events, host memory, recordings as graphs.
#include "backends/cpu/runtime/device.h"

#include <sys/sysinfo.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "backends/cpu/runtime/memory.h"
#include "backends/cpu/runtime/stream.h"
#include "base/threads/thread_count.h"

namespace infini::cpu {
namespace {

constexpr auto bad_param = INFINI_STATUS_BAD_PARAM;
const auto no_head = [](ObjectHead&) {};

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "CPU";
}

// A value of /proc/meminfo in bytes, or `otherwise`.
size_t meminfo(const std::string& key, size_t otherwise) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  return otherwise;
}

// Runs the work now, or adds it to the recording of a stream in capture.
template <class Body>
void submit(void* stream, Body body) {
  if (const auto recording = capture_of(stream))
    recording->add(body);
  else
    body();
}

void mark(EventState& event, const std::shared_ptr<Recording>& recording) {
  std::lock_guard lock(event.mutex);
  event.recorded = true;
  event.time = std::chrono::steady_clock::now();
  event.recording = recording;
}

Event event_of(void* handle, const char* argument) { return *Events::pin(handle, argument); }

// The open capture that the event was recorded in, if any.
std::shared_ptr<Recording> open_capture_of(EventState& event) {
  std::lock_guard lock(event.mutex);
  if (event.recording && event.recording->state() == Recording::State::ended)
    event.recording.reset();
  if (!event.recording) return nullptr;
  require(event.recording->state() != Recording::State::lost, bad_param,
          "event was recorded in a capture that is lost, because the stream it was begun on was "
          "destroyed; record it anew");
  return event.recording;
}

}  // namespace

std::string Device::description() const {
  std::ostringstream text;
  text << model_name() << ", " << thread_count() << (thread_count() == 1 ? " thread" : " threads");
  return text.str();
}

MemoryInfo Device::memory_info() {
  struct sysinfo info {};
  sysinfo(&info);
  const size_t unit = info.mem_unit;
  return {meminfo("MemAvailable", info.freeram * unit), meminfo("MemTotal", info.totalram * unit)};
}

void* Device::create_stream() { return streams().create(no_head); }

void Device::destroy_stream(void* stream) { streams().destroy(stream, "stream"); }

void Device::synchronize_stream(void* stream) {
  require(capture_of(stream) == nullptr, bad_param,
          "stream is being captured; end the capture before waiting for it");
}

void Device::stream_wait_event(void* stream, void* event) {
  const auto ours = capture_of(stream);
  const auto theirs = open_capture_of(*event_of(event, "event"));
  if (!theirs || theirs == ours) return;  // everything before it is done
  require(stream != nullptr && !ours, bad_param,
          stream ? "stream is in another capture than the event it is to wait for"
                 : "the default stream cannot join a capture");
  const auto waiting = Streams::pin(stream, "stream");
  std::lock_guard lock(waiting->mutex);
  require(!waiting->recording, bad_param, "stream was put into a capture by another thread");
  waiting->recording = theirs;
  waiting->in_capture = true;
}

void* Device::create_event(uint32_t flags) {
  const bool timed = (flags & INFINIRT_EVENT_DISABLE_TIMING) == 0;
  return events().create(no_head, std::make_shared<EventState>(timed));
}

void Device::destroy_event(void* event) { events().destroy(event, "event"); }

void Device::record_event(void* event, void* stream) {
  const Event recorded = event_of(event, "event");
  const auto recording = capture_of(stream);
  // The event may hold the recording, which therefore must not hold the event: nobody sees one whose handle is gone.
  if (recording)
    recording->add([captured = std::weak_ptr(recorded)] {
      if (const Event event = captured.lock()) mark(*event, nullptr);
    });
  mark(*recorded, recording);
}

bool Device::event_complete(void* event) {
  require(open_capture_of(*event_of(event, "event")) == nullptr, bad_param,
          "event was recorded in a capture that has not ended");
  return true;
}

void Device::synchronize_event(void* event) { event_complete(event); }

float Device::elapsed_milliseconds(void* start, void* end) {
  using Time = std::chrono::steady_clock::time_point;
  const auto time_of = [](void* handle, const char* name) -> Time {
    const Event event = event_of(handle, name);
    std::lock_guard lock(event->mutex);
    require(event->timed, bad_param, name, " was created with DISABLE_TIMING and has no time");
    require(event->recorded, bad_param, name, " has not been recorded");
    return event->time;
  };
  const Time from = time_of(start, "start"), to = time_of(end, "end");
  return std::chrono::duration<float, std::milli>(to - from).count();
}

void* Device::allocate(size_t bytes) { return cpu::allocate(bytes); }

void Device::free(void* p) { deallocate(p); }

void* Device::allocate_async(size_t bytes, void* stream) {
  capture_of(stream);  // checks the handle; memory is there at once, also for a recording
  return cpu::allocate(bytes);
}

void Device::free_async(void* p, void* stream) {
  if (const auto recording = capture_of(stream))
    recording->take(p);
  else
    deallocate(p);
}

void Device::copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t) {
  std::memmove(dst, src, bytes);
}

void Device::copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t,
                        void* stream) {
  submit(stream, [=] { std::memmove(dst, src, bytes); });
}

void Device::set(void* p, int value, size_t bytes) { std::memset(p, value, bytes); }

void Device::set_async(void* p, int value, size_t bytes, void* stream) {
  submit(stream, [=] { std::memset(p, value, bytes); });
}

void Device::begin_capture(void* stream, infinirtStreamCaptureMode_t) {
  require(stream != nullptr, bad_param, "the default stream (NULL) cannot be captured");
  const auto captured = Streams::pin(stream, "stream");
  require(captured->capture() == nullptr, bad_param, "stream is being captured already");
  auto recording = std::make_shared<Recording>();
  std::lock_guard lock(captured->mutex);
  require(!captured->recording, bad_param, "stream was put into a capture by another thread");
  captured->recording = std::move(recording);
  captured->is_origin = true;
  captured->in_capture = true;
}

void* Device::end_capture(void* stream) {
  require(stream != nullptr, bad_param, "the default stream (NULL) is never captured");
  const auto captured = Streams::pin(stream, "stream");
  std::lock_guard lock(captured->mutex);
  const auto recording = captured->recording;
  using State = Recording::State;
  require(recording && recording->state() != State::ended, bad_param,
          "stream is not being captured");
  const bool lost = recording->state() == State::lost;
  require(lost || captured->is_origin, bad_param,
          "stream joined this capture; end it where it was begun");
  void* graph = lost ? nullptr : graphs().create(no_head, recording);
  if (!lost) recording->end();
  captured->recording.reset();
  captured->is_origin = false;
  captured->in_capture = false;
  require(!lost, bad_param,
          "the capture is lost, because the stream it was begun on was destroyed");
  return graph;
}

void Device::destroy_graph(void* graph) { graphs().destroy(graph, "graph"); }

void* Device::instantiate_graph(void* graph) {
  const Graph recording = *Graphs::pin(graph, "graph");
  return graph_execs().create(no_head, recording);
}

void Device::destroy_graph_exec(void* exec) { graph_execs().destroy(exec, "exec"); }

void Device::launch_graph(void* exec, void* stream) {
  const Graph graph = *GraphExecs::pin(exec, "exec");
  if (const auto recording = capture_of(stream))
    recording->add([graph] { graph->replay(); });
  else
    graph->replay();
}

}  // namespace infini::cpu
