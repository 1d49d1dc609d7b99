// The CPU as a device: synchronous streams, steady-clock events, host memory, recordings as graphs.
#include "backends/cpu/runtime/device.h"

#include <sys/sysinfo.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "backends/cpu/runtime/memory.h"
#include "backends/cpu/runtime/stream.h"
#include "base/thread_count.h"

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

void mark(Event& event, const std::shared_ptr<Recording>& recording) {
  std::lock_guard lock(event.mutex);
  event.recorded = true;
  event.time = std::chrono::steady_clock::now();
  event.recording = recording;
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
  Event& waited = Events::get(event, "event");
  std::shared_ptr<Recording> theirs;
  {
    std::lock_guard lock(waited.mutex);
    theirs = waited.recording;
  }
  const auto ours = capture_of(stream);
  if (!theirs || theirs->ended() || theirs == ours) return;  // everything before it is done
  require(stream != nullptr && !ours, bad_param,
          stream ? "stream is in another capture than the event it is to wait for"
                 : "the default stream cannot join a capture");
  Stream& waiting = Streams::get(stream, "stream");
  std::lock_guard lock(waiting.mutex);
  waiting.recording = theirs;
  waiting.in_capture = true;
}

void* Device::create_event(uint32_t flags) {
  return events().create(no_head, (flags & INFINIRT_EVENT_DISABLE_TIMING) == 0);
}

void Device::destroy_event(void* event) { events().destroy(event, "event"); }

void Device::record_event(void* event, void* stream) {
  Event& recorded = Events::get(event, "event");
  const auto recording = capture_of(stream);
  mark(recorded, recording);
  if (recording)
    recording->add([event] {
      if (Events::is_live(event)) mark(Events::get(event, "event"), nullptr);
    });
}

bool Device::event_complete(void* event) {
  Event& asked = Events::get(event, "event");
  std::lock_guard lock(asked.mutex);
  require(!asked.recording || asked.recording->ended(), bad_param,
          "event was recorded in a capture that has not ended");
  return true;
}

void Device::synchronize_event(void* event) { event_complete(event); }

float Device::elapsed_milliseconds(void* start, void* end) {
  using Time = std::chrono::steady_clock::time_point;
  const auto time_of = [](void* handle, const char* name) -> Time {
    Event& event = Events::get(handle, name);
    std::lock_guard lock(event.mutex);
    require(event.timed, bad_param, name, " was created with DISABLE_TIMING and has no time");
    require(event.recorded, bad_param, name, " has not been recorded");
    return event.time;
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
    recording->keep_until_destroyed(p);
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
  require(capture_of(stream) == nullptr, bad_param, "stream is being captured already");
  Stream& captured = Streams::get(stream, "stream");
  std::lock_guard lock(captured.mutex);
  captured.recording = std::make_shared<Recording>();
  captured.is_origin = true;
  captured.in_capture = true;
}

void* Device::end_capture(void* stream) {
  const auto recording = capture_of(stream);
  require(recording != nullptr, bad_param, "stream is not being captured");
  Stream& captured = Streams::get(stream, "stream");
  std::lock_guard lock(captured.mutex);
  require(captured.is_origin, bad_param, "stream joined this capture; end it where it was begun");
  void* graph = graphs().create(no_head, recording);
  recording->end();
  captured.recording.reset();
  captured.is_origin = false;
  captured.in_capture = false;
  return graph;
}

void Device::destroy_graph(void* graph) { graphs().destroy(graph, "graph"); }

void* Device::instantiate_graph(void* graph) {
  return graph_execs().create(no_head, Graphs::get(graph, "graph"));
}

void Device::destroy_graph_exec(void* exec) { graph_execs().destroy(exec, "exec"); }

void Device::launch_graph(void* exec, void* stream) {
  const Graph graph = GraphExecs::get(exec, "exec");
  if (const auto recording = capture_of(stream))
    recording->add([graph] { graph->replay(); });
  else
    graph->replay();
}

}  // namespace infini::cpu
