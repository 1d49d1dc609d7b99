// Lazy streams: nothing runs before somebody waits (or a queue is full), then streams take turns in
// a seeded order. Two operations that share bytes must be ordered by a stream, an event or a wait.
#include <algorithm>

#include "state.h"

namespace simt {
namespace {

constexpr size_t history_limit = 512;
constexpr double milliseconds_each = 0.001;

// Sorting waits until there is something to compare with.
void merge(Footprint& footprint) {
  if (footprint.merged) return;
  merge(footprint.reads);
  merge(footprint.writes);
  footprint.merged = true;
}

bool ordered(const Operation& a, const Operation& b) {
  return b.clock.at(a.slot) >= a.number || a.clock.at(b.slot) >= b.number;
}

// Law: two operations with a common byte that at least one of them writes must be ordered.
void remember(Operation operation, Footprint footprint) {
  for (auto& [other, bytes] : state().history) {
    if (ordered(other, operation)) continue;
    merge(bytes);
    merge(footprint);
    if (overlap(footprint.writes, bytes.writes) || overlap(footprint.writes, bytes.reads) ||
        overlap(footprint.reads, bytes.writes))
      violate(SIMT_EMU_STREAM_RACE, "%s (stream %zu) and %s (stream %zu) share bytes", other.name,
              other.slot, operation.name, operation.slot);
  }
  operation.ready = nullptr;
  operation.execute = nullptr;
  state().history.push_back({std::move(operation), std::move(footprint)});
  if (state().history.size() > history_limit) state().history.pop_front();
}

void run_front(simtStream& stream) {
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  Device& device = state().devices[stream.device];
  state().milliseconds += milliseconds_each;
  Footprint footprint;
  Error error = simtErrorMemoryAllocation;
  try {
    error = operation.execute(footprint);
    remember(std::move(operation), std::move(footprint));
  } catch (
      const std::bad_alloc&) {  // either it did not end, or nobody will know which bytes it used
  }
  if (error != simtSuccess && device.error == simtSuccess) device.error = error;
}

}  // namespace

simtStream* create_stream(int device) {
  State& s = state();
  auto stream = std::make_shared<simtStream>();
  stream->device = device;
  s.streams.reserve(s.streams.size() + 1);
  s.runnable.reserve(s.streams.size() + 1);
  if (s.free_slots.empty()) {
    stream->slot = s.slot_numbers.size();
    s.slot_numbers.push_back(0);
  } else {
    stream->slot = s.free_slots.back();
    s.free_slots.pop_back();
  }
  s.host.set(stream->slot, s.host.at(stream->slot));  // joining its clock needs no memory then
  s.streams.push_back(stream);
  return stream.get();
}

simtStream* default_stream(int device) {
  simtStream*& stream = state().devices[device].default_stream;
  if (stream == nullptr) stream = create_stream(device);
  return stream;
}

simtStream* find_stream(simtStream_t handle, Error& error) {
  if (handle == nullptr) return default_stream(current_device());
  error = simtErrorInvalidResourceHandle;
  for (const auto& stream : state().streams) {
    if (stream.get() != handle) continue;
    if (!stream->closed) return stream.get();
    violate(SIMT_EMU_AFTER_DESTROY, "stream %p", static_cast<void*>(handle));
  }
  return nullptr;
}

void enqueue(simtStream& stream, Operation operation) {
  State& s = state();
  stream.clock.join(s.host);
  operation.slot = stream.slot;
  operation.number = ++s.slot_numbers[stream.slot];
  stream.clock.set(stream.slot, operation.number);
  operation.clock = stream.clock;
  stream.queue.push_back(std::move(operation));
  if (stream.queue.size() > queue_capacity)
    run_until([&] { return stream.queue.size() <= queue_capacity / 2; });
}

Error submit(simtStream& stream, const char* name, Work work) {
  if (stream.capture == nullptr) {
    enqueue(stream, {.name = name, .execute = std::move(work)});
    return simtSuccess;
  }
  if (stream.capture->invalidated) return simtErrorStreamCaptureInvalidated;
  auto& nodes = stream.capture->recording->nodes;
  nodes.push_back({name, std::move(work), stream.tail});
  stream.tail = {static_cast<int>(nodes.size()) - 1};
  return simtSuccess;
}

bool step() {
  auto& runnable = state().runnable;
  runnable.clear();
  for (const auto& stream : state().streams)
    if (!stream->queue.empty() && (!stream->queue.front().ready || stream->queue.front().ready()))
      runnable.push_back(stream.get());
  if (runnable.empty()) return false;
  run_front(*runnable[state().random() % runnable.size()]);
  return true;
}

void run_until(const std::function<bool()>& done) {
  while (!done() && step()) {
  }
}

Error synchronise(simtStream& stream) {
  run_until([&] { return stream.queue.empty(); });
  state().host.join(stream.clock);
  forget_ordered();
  return state().devices[stream.device].error;
}

void synchronise_device(int device) {
  const auto& streams = state().streams;  // work makes none
  for (const auto& stream : streams)
    if (stream->device == device && stream->capture == nullptr) synchronise(*stream);
}

void host_operation(const char* name, Footprint footprint) {
  State& s = state();
  Operation operation{.name = name, .number = ++s.slot_numbers[0]};
  s.host.set(0, operation.number);
  operation.clock = s.host;
  remember(std::move(operation), std::move(footprint));
  forget_ordered();
}

// An operation that the host and everything enqueued come after can race with nothing.
void forget_ordered() {
  State& s = state();
  std::erase_if(s.history, [&](const State::Done& done) {
    const Operation& operation = done.operation;
    if (s.host.at(operation.slot) < operation.number) return false;
    for (const auto& stream : s.streams)
      for (const auto& waiting : stream->queue)
        if (waiting.clock.at(operation.slot) < operation.number) return false;
    return true;
  });
}

}  // namespace simt

using namespace simt;

// Streams that wait for the default stream are not emulated: they would be hidden dependencies.
simtError_t simtStreamCreateWithFlags(simtStream_t* stream, unsigned flags) {
  return call(plain, [&] {
    if (stream == nullptr || flags != simtStreamNonBlocking) return simtErrorInvalidValue;
    *stream = create_stream(current_device());
    return simtSuccess;
  });
}

// What was enqueued will still run. A capture that began here is lost.
simtError_t simtStreamDestroy(simtStream_t handle) {
  return call(plain, [&] {
    Error error = simtErrorInvalidResourceHandle;
    simtStream* stream = handle != nullptr ? find_stream(handle, error) : nullptr;
    if (stream == nullptr) return error;
    if (stream->capture != nullptr) {
      stream->capture->invalidated = true;
      if (stream->capture->origin == stream) stream->capture->ended = true;
      stream->capture = nullptr;
    }
    stream->closed = true;
    return simtSuccess;
  });
}

simtError_t simtStreamSynchronize(simtStream_t handle) {
  return call(unsafe | waits, [&] {
    Error error = simtSuccess;
    simtStream* stream = find_stream(handle, error);
    if (stream == nullptr) return error;
    if (stream->capture == nullptr) return synchronise(*stream);
    stream->capture->invalidated = true;
    return simtErrorStreamCaptureUnsupported;
  });
}
