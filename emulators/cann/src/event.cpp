// Events: marks in a stream that can be waited for, asked about and timed, each only where its
// flags allow it.
#include "state.h"

namespace cann_emulator {
namespace {

constexpr size_t event_limit = 65536;

aclError create_event(Call& call, aclrtEvent* event, bool can_time, bool can_wait,
                      bool query_before_record) {
  if (int code = call.require_context()) return code;
  if (!event) return call.refused(ACL_ERROR_INVALID_PARAM, "event is NULL");
  if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
  if (call.s.events.size() >= event_limit)
    return call.refused(ACL_ERROR_RT_INTERNAL_ERROR, "more than ", event_limit, " events");
  uint64_t handle = call.s.next_handle++;
  call.s.events[handle] = {current_device(), can_time, can_wait, query_before_record, nullptr};
  *event = handle_of<aclrtEvent>(handle);
  return ACL_SUCCESS;
}

Event* find_event(Call& call, aclrtEvent handle, int& code) {
  code = call.require_context();
  if (code) return nullptr;
  auto it = call.s.events.find(address_of(handle));
  if (it == call.s.events.end()) {
    code = call.broken(Rule::live_handle, ACL_ERROR_RT_INVALID_HANDLE, "no such event: ", handle);
    return nullptr;
  }
  return &it->second;
}

// An event that can be timed, has been recorded, and whose recording has run.
Event* find_timed(Call& call, aclrtEvent handle, int& code) {
  Event* event = find_event(call, handle, code);
  if (!event) return nullptr;
  if (!event->can_time)
    code = call.broken(Rule::event, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                       "an event without ACL_EVENT_TIME_LINE");
  else if (!event->recording)
    code = call.broken(Rule::event, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                       "an event that was never recorded");
  else if (!event->recording->done)
    code = call.refused(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "an event that is not complete");
  return code ? nullptr : event;
}

}  // namespace
}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclError aclrtCreateEvent(aclrtEvent* event) {
  return answer("aclrtCreateEvent", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return create_event(call, event, true, true, false); });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return answer("aclrtCreateEventWithFlag", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    return create_event(call, event, flag & ACL_EVENT_TIME_LINE, flag & ACL_EVENT_SYNC, false);
  });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return answer("aclrtCreateEventExWithFlag", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    return create_event(call, event, flag & ACL_EVENT_TIME_LINE, flag & ACL_EVENT_SYNC, true);
  });
}

aclError aclrtDestroyEvent(aclrtEvent handle) {
  return answer("aclrtDestroyEvent", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    int code = 0;
    if (!find_event(call, handle, code)) return code;
    call.s.events.erase(address_of(handle));
    return ACL_SUCCESS;
  });
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream_handle) {
  return answer("aclrtRecordEvent", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    int code = 0;
    Event* event = find_event(call, handle, code);
    if (!event) return code;
    Stream* stream = find_stream(call, stream_handle, code);
    if (!stream) return code;
    if (event->device != stream->device)
      return call.broken(Rule::ownership, ACL_ERROR_RT_STREAM_CONTEXT,
                         "event and stream of different devices");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    auto recording = std::make_shared<Recording>();
    recording->stream = stream->handle;
    recording->known = stream->known;
    enqueue(call, *stream, {{}, [recording] {
                              recording->time = Clock::now();
                              recording->done = true;
                            }});
    recording->sequence = stream->queue.back().sequence;
    event->recording = recording;  // only now: what was not enqueued is never done
    return ACL_SUCCESS;
  });
}

// A query moves the recording's stream on by one task, so that a client that polls comes to an end.
aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status) {
  return answer("aclrtQueryEventStatus", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    int code = 0;
    Event* event = find_event(call, handle, code);
    if (!event) return code;
    if (!status) return call.refused(ACL_ERROR_INVALID_PARAM, "status is NULL");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    if (!event->recording) {
      *status = event->query_before_record ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                           : ACL_EVENT_RECORDED_STATUS_NOT_READY;
      return ACL_SUCCESS;
    }
    *status = event->recording->done ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                     : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    auto stream = call.s.streams.find(event->recording->stream);
    if (!event->recording->done && stream != call.s.streams.end()) run_one(call.s, stream->second);
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent handle) {
  return answer("aclrtSynchronizeEvent", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    int code = 0;
    Event* event = find_event(call, handle, code);
    if (!event) return code;
    if (event->recording) run_until(call.s, *event->recording);
    return call.must_fail() ? ACL_ERROR_RT_INTERNAL_ERROR : ACL_SUCCESS;
  });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start_handle, aclrtEvent end_handle) {
  return answer("aclrtEventElapsedTime", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (!ms) return call.refused(ACL_ERROR_INVALID_PARAM, "ms is NULL");
    int code = 0;
    Event* start = find_timed(call, start_handle, code);
    if (!start) return code;
    Event* end = find_timed(call, end_handle, code);
    if (!end) return code;
    if (start->recording->stream != end->recording->stream)
      return call.broken(Rule::event, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                         "the events were recorded on two streams");
    if (end->recording->time < start->recording->time)
      return call.refused(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the end lies before the start");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    *ms = std::chrono::duration<float, std::milli>(end->recording->time - start->recording->time)
              .count();
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream_handle, aclrtEvent event_handle) {
  return answer("aclrtStreamWaitEvent", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    int code = 0;
    Stream* stream = find_stream(call, stream_handle, code);
    if (!stream) return code;
    Event* event = find_event(call, event_handle, code);
    if (!event) return code;
    if (!event->can_wait)
      return call.broken(Rule::event, ACL_ERROR_RT_PARAM_INVALID,
                         "an event without ACL_EVENT_SYNC");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    if (auto recording = event->recording) {
      enqueue(call, *stream, {{}, [recording] { run_until(state(), *recording); }});
      order_after(*stream, *recording);
    }
    return ACL_SUCCESS;
  });
}

}  // extern "C"
