// Lazy streams: work runs only when somebody waits, in a seeded order, and every pair of operations
// that touches the same bytes must be ordered by a stream, an event or a wait of the host.
#include <algorithm>

#include "state.h"

namespace xpu_emu {
namespace {
constexpr size_t history_limit = 512;

bool ordered(const Operation& a, const Operation& b) {
  return b.clock.at(a.slot) >= a.number || a.clock.at(b.slot) >= b.number;
}

// Law: two operations with a common byte that at least one of them writes must be ordered.
void remember(Operation operation, Footprint footprint) {
  merge(footprint.reads);
  merge(footprint.writes);
  for (const auto& [other, bytes] : state().history) {
    if (ordered(other, operation)) continue;
    if (overlap(footprint.writes, bytes.writes) || overlap(footprint.writes, bytes.reads) ||
        overlap(footprint.reads, bytes.writes))
      violate(XPU_EMU_STREAM_RACE, "%s (stream slot %zu) and %s (stream slot %zu) share bytes",
              other.name.c_str(), other.slot, operation.name.c_str(), operation.slot);
  }
  operation.ready = nullptr;
  operation.execute = nullptr;
  state().history.push_back({std::move(operation), std::move(footprint)});
  if (state().history.size() > history_limit) state().history.pop_front();
}

void run_front(Stream& stream) {
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  Device& device = state().devices[stream.device];
  Footprint footprint;
  int code = 0;
  if (!device.abnormal || operation.name == "event") code = operation.execute(footprint);
  if (code) device.fresh_error = code;
  if (code == XPUERR_KEXCEPTION || code == XPUERR_TIMEOUT || code == XPUERR_DMATIMEOUT)
    device.abnormal = true;
  remember(std::move(operation), std::move(footprint));
}

// Runs one operation of a stream chosen at random; false when every stream is empty or blocked.
bool step() {
  std::vector<Stream*> runnable;
  for (const auto& stream : state().streams)
    if (!stream->queue.empty() && (!stream->queue.front().ready || stream->queue.front().ready()))
      runnable.push_back(stream.get());
  if (runnable.empty()) return false;
  run_front(*runnable[state().random() % runnable.size()]);
  return true;
}

thread_local int thread_device = 0;

Stream* create_stream(int device) {
  State& s = state();
  auto stream = std::make_unique<Stream>();
  stream->device = device;
  if (s.free_slots.empty()) {
    stream->slot = s.slot_numbers.size();
    s.slot_numbers.push_back(0);
  } else {
    stream->slot = s.free_slots.back();
    s.free_slots.pop_back();
  }
  s.streams.push_back(std::move(stream));
  return s.streams.back().get();
}

Event* event_of(XPUEvent handle) {
  for (const auto& event : state().events)
    if (event.get() == handle && !event->closed) return event.get();
  return nullptr;
}
std::shared_ptr<Event> share(Event* raw) {
  for (const auto& event : state().events)
    if (event.get() == raw) return event;
  return nullptr;
}
}  // namespace

int current_device() { return thread_device; }

Stream* stream_of(XPUStream handle, int& error) {
  State& s = state();
  error = 0;
  if (!handle) {
    Device& device = s.devices[thread_device];
    if (!device.default_stream) device.default_stream = create_stream(thread_device);
    return device.default_stream;
  }
  for (const auto& stream : s.streams) {
    if (stream.get() != handle) continue;
    if (stream->closed)
      error = XPUERR_USEAFCLOSE;
    else if (stream->device != thread_device)
      error = XPUERR_INVALID_PARAM;
    return error ? nullptr : stream.get();
  }
  error = XPUERR_INVALID_PARAM;
  return nullptr;
}

void enqueue(Stream& stream, Operation operation) {
  State& s = state();
  stream.clock.join(s.host);
  operation.slot = stream.slot;
  operation.number = ++s.slot_numbers[stream.slot];
  operation.device = stream.device;
  stream.clock.set(stream.slot, operation.number);
  operation.clock = stream.clock;
  stream.queue.push_back(std::move(operation));
  if (stream.queue.size() > stream_capacity)
    run_until([&] { return stream.queue.size() <= stream_capacity / 2; });
}

void run_until(const std::function<bool()>& done) {
  while (!done() && step()) {
  }
}

void synchronise(Stream& stream) {
  run_until([&] { return stream.queue.empty(); });
  state().host.join(stream.clock);
  forget_ordered();
}

int take_error(int device_id) {
  Device& device = state().devices[device_id];
  if (const int code = device.fresh_error) {
    device.fresh_error = 0;
    return -code;
  }
  return device.abnormal ? -XPUERR_ABNORMAL : 0;
}

void host_operation(const char* name, int device, Footprint footprint) {
  State& s = state();
  Operation operation;
  operation.slot = 0;
  operation.number = ++s.slot_numbers[0];
  operation.device = device;
  operation.name = name;
  s.host.set(0, operation.number);
  operation.clock = s.host;
  remember(std::move(operation), std::move(footprint));
  forget_ordered();
}

// An operation that the host and everything still enqueued come after can race with nothing.
void forget_ordered() {
  State& s = state();
  auto settled = [&](const State::Done& done) {
    const Operation& operation = done.operation;
    if (s.host.at(operation.slot) < operation.number) return false;
    for (const auto& stream : s.streams)
      for (const auto& waiting : stream->queue)
        if (waiting.clock.at(operation.slot) < operation.number) return false;
    return true;
  };
  std::erase_if(s.history, settled);
}
}  // namespace xpu_emu

using namespace xpu_emu;

extern "C" {
int xpu_set_device(int devid) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  if (devid < 0 || devid >= device_count) return -XPUERR_INVALID_DEVICE;
  thread_device = devid;
  return 0;
}
int xpu_current_device(int* pdevid) {
  if (!pdevid) return -XPUERR_INVALID_PARAM;
  *pdevid = thread_device;
  return 0;
}
int xpu_stream_create(XPUStream* s) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  if (!s) return -XPUERR_INVALID_PARAM;
  const auto& all = state().streams;
  if (std::count_if(all.begin(), all.end(), [](auto& one) { return !one->closed; }) >= max_streams)
    return -XPUERR_NOCPUMEM;
  *s = create_stream(thread_device);
  return 0;
}
int xpu_stream_destroy(XPUStream handle) {
  Lock lock(state().mutex);
  int error = 0;
  Stream* stream = handle ? stream_of(handle, error) : nullptr;
  if (!stream) return error ? -error : -XPUERR_INVALID_PARAM;
  run_until([&] { return stream->queue.empty(); });
  stream->closed = true;
  state().free_slots.push_back(stream->slot);
  return 0;
}
int xpu_wait(XPUStream handle) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  int error = 0;
  Stream* stream = stream_of(handle, error);
  if (!stream) return -error;
  synchronise(*stream);
  if (!stream->queue.empty()) return -XPUERR_TIMEOUT;  // waits for an event that cannot fire
  return take_error(stream->device);
}
int xpu_event_create(XPUEvent* e) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  if (!e) return -XPUERR_INVALID_PARAM;
  state().events.push_back(std::make_shared<Event>());
  *e = state().events.back().get();
  return 0;
}
int xpu_event_destroy(XPUEvent e) {
  Lock lock(state().mutex);
  Event* event = event_of(e);
  if (!event) return -XPUERR_INVALID_PARAM;
  event->closed = true;
  return 0;
}
int xpu_event_record(XPUEvent e, XPUStream handle) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  int error = 0;
  Event* raw = event_of(e);
  Stream* stream = stream_of(handle, error);
  if (!raw || !stream) return error ? -error : -XPUERR_INVALID_PARAM;
  auto event = share(raw);
  const uint64_t turn = ++event->issued;
  Operation operation;
  operation.name = "event";
  operation.execute = [event, turn](Footprint&) {
    event->done = std::max(event->done, turn);
    return 0;
  };
  enqueue(*stream, std::move(operation));
  event->clock = stream->clock;
  return 0;
}
int xpu_event_wait(XPUEvent e) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_EVENTWAIT)) return -code;
  Event* event = event_of(e);
  if (!event) return -XPUERR_INVALID_PARAM;
  const uint64_t turn = event->issued;
  run_until([&] { return event->done >= turn; });
  if (event->done < turn) return -XPUERR_EVENTWAIT;
  state().host.join(event->clock);
  forget_ordered();
  return take_error(thread_device);
}
int xpu_event_query(XPUEvent e) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  Event* event = event_of(e);
  if (!event) return -XPUERR_INVALID_PARAM;
  if (event->done < event->issued && state().random() % 2) step();  // the chip works meanwhile
  if (event->done < event->issued) return -XPUERR_BUSY;
  state().host.join(event->clock);
  forget_ordered();
  return take_error(thread_device);
}
int xpu_stream_wait_event(XPUStream handle, XPUEvent e) {
  Lock lock(state().mutex);
  if (int code = injected(XPUERR_UNEXPECT)) return -code;
  int error = 0;
  Event* raw = event_of(e);
  Stream* stream = stream_of(handle, error);
  if (!raw || !stream) return error ? -error : -XPUERR_INVALID_PARAM;
  auto event = share(raw);
  const uint64_t turn = event->issued;
  stream->clock.join(event->clock);
  Operation operation;
  operation.name = "wait for an event";
  operation.ready = [event, turn] { return event->done >= turn; };
  operation.execute = [](Footprint&) { return 0; };
  enqueue(*stream, std::move(operation));
  return 0;
}
}
