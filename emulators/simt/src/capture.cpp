// Recorded work: captures, graphs and their launches.
#include <algorithm>

#include "state.h"

namespace simt {
namespace {

template <class Object>
std::shared_ptr<Object> find(const std::vector<std::shared_ptr<Object>>& all, const Object* handle,
                             const char* what) {
  for (const auto& object : all) {
    if (object.get() != handle) continue;
    if (!object->closed) return object;
    violate(SIMT_EMU_AFTER_DESTROY, "%s %p", what, static_cast<const void*>(handle));
  }
  return nullptr;
}

// Every node that a joined stream ended with must come before the origin's end.
bool all_joined(const Capture& capture) {
  const auto& nodes = capture.recording->nodes;
  std::vector<bool> reached(nodes.size(), false);
  for (const int node : capture.origin->tail) reached[node] = true;
  for (size_t i = nodes.size(); i-- > 0;)
    if (reached[i])
      for (const int before : nodes[i].after) reached[before] = true;
  return std::all_of(reached.begin(), reached.end(), [](bool is) { return is; });
}

void leave_capture(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  for (const auto& stream : state().streams) {
    if (stream->capture != capture) continue;
    stream->capture = nullptr;
    stream->tail.clear();
  }
  std::erase_if(state().captures, [](const auto& weak) {
    const auto each = weak.lock();
    return !each || each->ended;
  });
}

// All nodes, each after those it depends on, otherwise in any order.
Error run_recording(const Recording& recording, Footprint& footprint) {
  const auto& nodes = recording.nodes;
  std::vector<bool> done(nodes.size(), false);
  for (size_t left = nodes.size(); left > 0; --left) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (!done[i] && std::all_of(nodes[i].after.begin(), nodes[i].after.end(),
                                  [&](int before) { return done[before]; }))
        ready.push_back(i);
    const size_t chosen = ready[state().random() % ready.size()];
    if (const Error error = nodes[chosen].execute(footprint)) return error;
    done[chosen] = true;
  }
  return simtSuccess;
}

}  // namespace
}  // namespace simt

using namespace simt;

simtError_t simtStreamBeginCapture(simtStream_t handle, simtStreamCaptureMode mode) {
  return call(plain, [&] {
    Error error = simtErrorStreamCaptureUnsupported;  // of the default stream
    simtStream* stream = handle != nullptr ? find_stream(handle, error) : nullptr;
    if (stream == nullptr) return error;
    if (stream->capture) return simtErrorIllegalState;
    if (mode < simtStreamCaptureModeGlobal || mode > simtStreamCaptureModeRelaxed)
      return simtErrorInvalidValue;
    const auto capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->recording->device = stream->device;
    state().captures.push_back(capture);
    stream->capture = capture;
    stream->tail.clear();
    return simtSuccess;
  });
}

simtError_t simtStreamEndCapture(simtStream_t handle, simtGraph_t* graph) {
  return call(plain, [&] {
    Error error = simtErrorIllegalState;
    simtStream* stream = handle != nullptr ? find_stream(handle, error) : nullptr;
    if (stream == nullptr) return error;
    const auto capture = stream->capture;
    if (!capture) return simtErrorIllegalState;
    if (capture->origin != stream) return simtErrorStreamCaptureUnmatched;
    if (capture->mode != simtStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id())
      return simtErrorStreamCaptureWrongThread;
    const bool joined = all_joined(*capture);
    leave_capture(capture);
    if (capture->invalidated) return simtErrorStreamCaptureInvalidated;
    if (!joined) return simtErrorStreamCaptureUnjoined;
    auto made = std::make_shared<simtGraph>();
    made->recording = capture->recording;
    state().graphs.push_back(made);
    *graph = made.get();
    return simtSuccess;
  });
}

simtError_t simtStreamIsCapturing(simtStream_t handle, simtStreamCaptureStatus* status) {
  return call(plain, [&] {
    Error error = simtSuccess;
    const simtStream* stream = find_stream(handle, error);
    if (stream == nullptr) return error;
    *status = !stream->capture               ? simtStreamCaptureStatusNone
              : stream->capture->invalidated ? simtStreamCaptureStatusInvalidated
                                             : simtStreamCaptureStatusActive;
    return simtSuccess;
  });
}

simtError_t simtGraphInstantiate(simtGraphExec_t* exec, simtGraph_t handle,
                                 unsigned long long flags) {
  return call(plain, [&] {
    const auto graph = find(state().graphs, handle, "graph");
    if (!graph || exec == nullptr || flags != 0) return simtErrorInvalidValue;
    auto made = std::make_shared<simtGraphExec>();
    made->recording = graph->recording;
    state().execs.push_back(made);
    *exec = made.get();
    return simtSuccess;
  });
}

simtError_t simtGraphDestroy(simtGraph_t handle) {
  return call(plain, [&] {
    const auto graph = find(state().graphs, handle, "graph");
    if (!graph) return simtErrorInvalidValue;
    graph->closed = true;
    graph->recording = nullptr;
    return simtSuccess;
  });
}

// Launches that are still enqueued keep the recorded work.
simtError_t simtGraphExecDestroy(simtGraphExec_t handle) {
  return call(plain, [&] {
    const auto exec = find(state().execs, handle, "executable graph");
    if (!exec) return simtErrorInvalidValue;
    exec->closed = true;
    exec->recording = nullptr;
    return simtSuccess;
  });
}

// Into a stream of the graph's own device; a graph inside a capture is not emulated.
simtError_t simtGraphLaunch(simtGraphExec_t handle, simtStream_t stream_handle) {
  return call(plain, [&] {
    const auto exec = find(state().execs, handle, "executable graph");
    Error error = simtErrorInvalidValue;
    simtStream* stream = exec ? find_stream(stream_handle, error) : nullptr;
    if (stream == nullptr) return error;
    if (stream->device != exec->recording->device) return simtErrorInvalidResourceHandle;
    if (stream->capture) {
      stream->capture->invalidated = true;
      return simtErrorStreamCaptureUnsupported;
    }
    return submit(*stream, "graph", [recording = exec->recording](Footprint& footprint) {
      return run_recording(*recording, footprint);
    });
  });
}
