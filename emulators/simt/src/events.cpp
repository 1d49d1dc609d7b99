// Events: order between streams, and time.
#include "state.h"

namespace simt {
namespace {

std::shared_ptr<simtEvent> find_event(simtEvent_t handle) {
  for (const auto& event : state().events) {
    if (event.get() != handle) continue;
    if (!event->closed) return event;
    violate(SIMT_EMU_AFTER_DESTROY, "event %p", static_cast<void*>(handle));
  }
  return nullptr;
}

bool in_capture(const simtEvent& event) { return event.capture && !event.capture->ended; }

// Asking for an event that belongs to a capture ends the capture.
Error refuse_captured(simtEvent& event) {
  if (!in_capture(event)) return simtSuccess;
  event.capture->invalidated = true;
  return simtErrorCapturedEvent;
}

// The stream joins the event's capture, if it is in none; its next node comes after the event.
Error join_capture(simtStream& stream, const simtEvent& event) {
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->invalidated = event.capture->invalidated = true;
    return simtErrorStreamCaptureMerge;
  }
  if (!stream.capture) stream.tail.clear();
  stream.capture = event.capture;
  stream.tail.insert(stream.tail.end(), event.tail.begin(), event.tail.end());
  return simtSuccess;
}

Error record(const std::shared_ptr<simtEvent>& event, simtStream& stream) {
  if (event->device != stream.device) return simtErrorInvalidResourceHandle;
  if (stream.capture) {
    if (stream.capture->invalidated) return simtErrorStreamCaptureInvalidated;
    event->capture = stream.capture;
    event->tail = stream.tail;
    return simtSuccess;
  }
  event->capture = nullptr;
  const uint64_t turn = event->issued + 1;
  enqueue(stream, {.name = "event", .execute = [event, turn](Footprint&) {
                     event->done = std::max(event->done, turn);
                     event->milliseconds = state().milliseconds;
                     return simtSuccess;
                   }});
  event->issued = turn;  // only now: who waits for what was not enqueued waits for ever
  event->clock = stream.clock;
  return simtSuccess;
}

Error wait_for(simtStream& stream, const std::shared_ptr<simtEvent>& event) {
  if (in_capture(*event)) return join_capture(stream, *event);
  if (stream.capture) {
    stream.capture->invalidated = true;
    return simtErrorStreamCaptureIsolation;
  }
  const uint64_t turn = event->issued;
  stream.clock.join(event->clock);
  enqueue(stream, {.name = "wait for an event",
                   .execute = [](Footprint&) { return simtSuccess; },
                   .ready = [event, turn] { return event->done >= turn; }});
  return simtSuccess;
}

Error complete(simtEvent& event) {
  state().host.join(event.clock);
  forget_ordered();
  return state().devices[event.device].error;
}

}  // namespace
}  // namespace simt

using namespace simt;

simtError_t simtEventCreateWithFlags(simtEvent_t* event, unsigned flags) {
  return call(plain, [&] {
    if (event == nullptr || flags > (simtEventBlockingSync | simtEventDisableTiming))
      return simtErrorInvalidValue;
    auto made = std::make_shared<simtEvent>();
    made->device = current_device();
    made->timing = (flags & simtEventDisableTiming) == 0;
    state().events.push_back(made);
    *event = made.get();
    return simtSuccess;
  });
}

simtError_t simtEventDestroy(simtEvent_t handle) {
  return call(plain, [&] {
    const auto event = find_event(handle);
    if (!event) return simtErrorInvalidResourceHandle;
    event->closed = true;
    return simtSuccess;
  });
}

simtError_t simtEventRecord(simtEvent_t handle, simtStream_t stream_handle) {
  return call(plain, [&] {
    const auto event = find_event(handle);
    Error error = simtErrorInvalidResourceHandle;
    simtStream* stream = event ? find_stream(stream_handle, error) : nullptr;
    return stream == nullptr ? error : record(event, *stream);
  });
}

simtError_t simtStreamWaitEvent(simtStream_t stream_handle, simtEvent_t handle, unsigned flags) {
  return call(plain, [&] {
    if (flags != 0) return simtErrorInvalidValue;
    const auto event = find_event(handle);
    Error error = simtErrorInvalidResourceHandle;
    simtStream* stream = event ? find_stream(stream_handle, error) : nullptr;
    return stream == nullptr ? error : wait_for(*stream, event);
  });
}

simtError_t simtEventQuery(simtEvent_t handle) {
  return call(unsafe, [&] {
    const auto event = find_event(handle);
    if (!event) return simtErrorInvalidResourceHandle;
    if (const Error error = refuse_captured(*event)) return error;
    if (event->done < event->issued && state().random() % 2) step();  // the chip works meanwhile
    return event->done < event->issued ? simtErrorNotReady : complete(*event);
  });
}

simtError_t simtEventSynchronize(simtEvent_t handle) {
  return call(unsafe | waits, [&] {
    const auto event = find_event(handle);
    if (!event) return simtErrorInvalidResourceHandle;
    if (const Error error = refuse_captured(*event)) return error;
    const uint64_t turn = event->issued;
    run_until([&] { return event->done >= turn; });
    return complete(*event);
  });
}

simtError_t simtEventElapsedTime(float* ms, simtEvent_t start, simtEvent_t end) {
  return call(plain, [&] {
    const auto first = find_event(start), last = find_event(end);
    if (!first || !last || first->device != last->device || !first->timing || !last->timing ||
        first->issued == 0 || last->issued == 0)
      return simtErrorInvalidResourceHandle;
    if (first->done < first->issued || last->done < last->issued) return simtErrorNotReady;
    *ms = static_cast<float>(last->milliseconds - first->milliseconds);
    return simtSuccess;
  });
}
