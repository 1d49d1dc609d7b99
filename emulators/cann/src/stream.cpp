// Streams are queues that run late: at a synchronisation, a query, a wait, or when full. Late is
// legal, and shows every client that frees, reuses or reads memory too early.
#include <algorithm>
#include <utility>

#include "state.h"

namespace cann_emulator {
namespace {

constexpr size_t queue_limit = 128;
constexpr size_t stream_limit = 1984;

// Only ranges that are used throughout count: two strided views may interleave and be disjoint all
// the same.
bool conflict(const Task& a, const Task& b) {
  for (const Access& x : a.accesses)
    for (const Access& y : b.accesses)
      if (x.all && y.all && (x.writes || y.writes) && x.begin < y.end && y.begin < x.end)
        return true;
  return false;
}

// Whether queued work of another stream, which nothing orders before this, touches the task's
// bytes.
bool races(State& s, const Stream& stream, const Task& task) {
  for (auto& [handle, other] : s.streams) {
    if (handle == stream.handle) continue;
    const auto known = stream.known.find(handle);
    const uint64_t ordered = known == stream.known.end() ? 0 : known->second;
    for (const Task& earlier : other.queue)
      if (earlier.sequence > ordered && conflict(task, earlier)) return true;
  }
  return false;
}

aclError create_stream(Call& call, aclrtStream* stream) {
  if (int code = call.require_context()) return code;
  if (!stream) return call.refused(ACL_ERROR_INVALID_PARAM, "stream is NULL");
  if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
  if (call.s.streams.size() >= stream_limit)
    return call.refused(ACL_ERROR_RT_INTERNAL_ERROR, "more than ", stream_limit, " streams");
  uint64_t handle = call.s.next_handle++;
  Stream& made = call.s.streams[handle];
  made.context = current_context();
  made.device = current_device();
  made.handle = handle;
  *stream = handle_of<aclrtStream>(handle);
  return ACL_SUCCESS;
}

aclError destroy_stream(Call& call, aclrtStream handle, bool finish) {
  int code = 0;
  if (!handle) return call.broken(Rule::live_handle, ACL_ERROR_RT_INVALID_HANDLE, "stream is NULL");
  Stream* stream = find_stream(call, handle, code);
  if (!stream) return code;
  if (finish) run_all(call.s, *stream);
  call.s.streams.erase(address_of(handle));
  return ACL_SUCCESS;
}

aclError synchronize(Call& call, aclrtStream handle) {
  int code = 0;
  Stream* stream = find_stream(call, handle, code);
  if (!stream) return code;
  run_all(call.s, *stream);  // also when chosen to fail: a failed wait does not stop the chip
  if (std::exchange(call.s.task_lost, false))
    return call.refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host had no memory for queued work");
  if (!check_red_zones(call) || call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
  return ACL_SUCCESS;
}

}  // namespace

Stream* find_stream(Call& call, aclrtStream handle, int& code) {
  code = call.require_context();
  if (code) return nullptr;
  uint64_t id =
      handle ? address_of(handle) : find_context(call.s, current_context())->default_stream;
  auto it = call.s.streams.find(id);
  if (it == call.s.streams.end()) {
    code = call.broken(Rule::live_handle, ACL_ERROR_RT_INVALID_HANDLE, "no such stream: ", handle);
    return nullptr;
  }
  if (it->second.context != current_context()) {
    code = call.broken(Rule::ownership, ACL_ERROR_RT_STREAM_CONTEXT,
                       "the stream belongs to device ", it->second.device,
                       " or another context, the thread uses device ", current_device());
    return nullptr;
  }
  return &it->second;
}

void run_one(State& s, Stream& stream) {
  if (stream.queue.empty() || stream.running) return;
  Task task = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.running = true;
  try {
    task.run();
  } catch (const std::bad_alloc&) {
    s.task_lost = true;
  }
  stream.running = false;
}

void run_all(State& s, Stream& stream) {
  while (!stream.queue.empty() && !stream.running) run_one(s, stream);
}

void run_until(State& s, const Recording& recording) {
  auto it = s.streams.find(recording.stream);
  while (it != s.streams.end() && !recording.done && !it->second.queue.empty() &&
         !it->second.running)
    run_one(s, it->second);
}

void enqueue(Call& call, Stream& stream, Task task) {
  while (stream.queue.size() >= queue_limit && !stream.running) run_one(call.s, stream);
  task.sequence = call.s.next_sequence++;
  if (races(call.s, stream, task))
    call.broken(
        Rule::race, 0,
        "queued work of another stream touches the same bytes, and no event orders the two");
  stream.queue.push_back(std::move(task));
}

void order_after(Stream& stream, const Recording& recording) {
  auto learn = [&](uint64_t handle, uint64_t sequence) {
    uint64_t& known = stream.known[handle];
    known = std::max(known, sequence);
  };
  learn(recording.stream, recording.sequence);
  for (auto& [handle, sequence] : recording.known) learn(handle, sequence);
}

bool in_flight(State& s, uint64_t begin, uint64_t end, bool also_reads) {
  for (auto& [handle, stream] : s.streams)
    for (auto& task : stream.queue)
      for (auto& access : task.accesses)
        if ((also_reads || access.writes) && access.begin < end && begin < access.end) return true;
  return false;
}

}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) {
  return answer("aclrtCreateStream", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return create_stream(call, stream); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t, uint32_t) {
  return answer("aclrtCreateStreamWithConfig", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return create_stream(call, stream); });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return answer("aclrtDestroyStream", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return destroy_stream(call, stream, true); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return answer("aclrtDestroyStreamForce", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return destroy_stream(call, stream, false); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return answer("aclrtSynchronizeStream", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return synchronize(call, stream); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
  return answer("aclrtSynchronizeStreamWithTimeout", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return synchronize(call, stream); });
}

aclError aclrtSynchronizeDevice(void) {
  return answer("aclrtSynchronizeDevice", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    for (auto& [handle, stream] : call.s.streams)
      if (stream.device == current_device()) run_all(call.s, stream);
    if (std::exchange(call.s.task_lost, false))
      return call.refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host had no memory for queued work");
    if (!check_red_zones(call) || call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    return ACL_SUCCESS;
  });
}

// A query moves the stream on by one task, so that a client that polls comes to an end.
aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
  return answer("aclrtStreamQuery", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    int code = 0;
    Stream* stream = find_stream(call, handle, code);
    if (!stream) return code;
    if (!status) return call.refused(ACL_ERROR_INVALID_PARAM, "status is NULL");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    *status = stream->queue.empty() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    run_one(call.s, *stream);
    return ACL_SUCCESS;
  });
}

}  // extern "C"
