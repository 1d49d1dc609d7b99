// The runtime on a GPU: each function is one call of the vendor's runtime and a check.
#include "backends/gpu/runtime/device.h"

#include <atomic>
#include <sstream>

#include "backends/gpu/runtime/check.h"

namespace infini::gpu {
namespace {

Event as_event(void* event) { return static_cast<Event>(event); }

// The vendor's synchronous copies and memsets inside device memory return before they are done, and
// our streams do not wait for the default stream: without this the next kernel could come first.
void finish_default_stream() {
  check(stream_synchronize(nullptr), "a copy or memset on the default stream failed");
}

// Pointers that kernels of a device can reach, as this thread has found: asking the driver costs a
// tenth of a launch. What was found holds until something is freed.
struct Known {
  const void* p = nullptr;
  const GpuDevice* device = nullptr;
  uint64_t frees = 0;
};

std::atomic<uint64_t> frees = 1;  // how often memory was freed

Known& known_at(const void* p) {
  thread_local Known known[64];
  const auto bits = reinterpret_cast<uintptr_t>(p) >> 8;  // allocations begin at multiples of 256
  return known[(bits ^ bits >> 6 ^ bits >> 12) % 64];
}

}  // namespace

GpuDevice::GpuDevice(int id) : Device(vendor_kind, id) {
  check(device_facts(id, facts_), "cannot open ", vendor_name, " device ", id);
  keep_pooled_memory(id, uint64_t{64} << 20);
}

std::string GpuDevice::description() const {
  std::ostringstream text;
  text << facts_.name << ", " << facts_.processors << " multiprocessors, "
       << (facts_.memory_bytes >> 30) << " GiB";
  return text.str();
}

void GpuDevice::make_current() {
  check(set_device(id()), "cannot make ", vendor_name, " device ", id(), " current");
}

MemoryInfo GpuDevice::memory_info() {
  MemoryInfo info;
  check(gpu::memory_info(&info.free_bytes, &info.total_bytes), "cannot ask for free memory");
  return info;
}

void GpuDevice::synchronize() { check(device_synchronize(), "work on the device failed"); }

Stream GpuDevice::live(void* stream) const {
  const auto ours = static_cast<Stream>(stream);
  park_.require_live(ours);
  return ours;
}

void* GpuDevice::create_stream() { return park_.create(); }

void GpuDevice::destroy_stream(void* stream) { park_.destroy(static_cast<Stream>(stream)); }

void GpuDevice::synchronize_stream(void* stream) {
  check(stream_synchronize(live(stream)), "cannot synchronize stream ", stream);
}

void GpuDevice::stream_wait_event(void* stream, void* event) {
  check(gpu::stream_wait_event(live(stream), as_event(event)), "stream ", stream,
        " cannot wait for event ", event);
}

void* GpuDevice::create_event(uint32_t flags) {
  unsigned vendor_flags = 0;
  if (flags & INFINIRT_EVENT_DISABLE_TIMING) vendor_flags |= event_disable_timing;
  if (flags & INFINIRT_EVENT_BLOCKING_SYNC) vendor_flags |= event_blocking_sync;
  Event event = nullptr;
  check(event_create(&event, vendor_flags), "cannot create an event with flags ", flags);
  return event;
}

void GpuDevice::destroy_event(void* event) {
  check(event_destroy(as_event(event)), "cannot destroy event ", event);
}

void GpuDevice::record_event(void* event, void* stream) {
  check(event_record(as_event(event), live(stream)), "cannot record event ", event, " on stream ",
        stream);
}

bool GpuDevice::event_complete(void* event) {
  const Status status = event_query(as_event(event));
  if (status == not_ready) {
    take_last_error();
    return false;
  }
  check(status, "cannot query event ", event);
  return true;
}

void GpuDevice::synchronize_event(void* event) {
  check(event_synchronize(as_event(event)), "cannot synchronize event ", event);
}

float GpuDevice::elapsed_milliseconds(void* start, void* end) {
  float milliseconds = 0;
  check(event_elapsed(&milliseconds, as_event(start), as_event(end)), "no time between events ",
        start, " and ", end);
  return milliseconds;
}

void* GpuDevice::allocate(size_t bytes) {
  void* p = nullptr;
  check(gpu::allocate(&p, bytes), "cannot allocate ", bytes, " bytes on device ", id());
  return p;
}

void GpuDevice::free(void* p) {
  ++frees;
  check(gpu::free(p), "cannot free device memory ", p);
}

void* GpuDevice::allocate_host(size_t bytes) {
  void* p = nullptr;
  check(gpu::allocate_host(&p, bytes), "cannot allocate ", bytes, " bytes of pinned host memory");
  return p;
}

void GpuDevice::free_host(void* p) {
  ++frees;
  check(gpu::free_host(p), "cannot free pinned memory ", p);
}

void* GpuDevice::allocate_async(size_t bytes, void* stream) {
  void* p = nullptr;
  check(gpu::allocate_async(&p, bytes, live(stream)), "cannot allocate ", bytes,
        " bytes on stream ", stream);
  return p;
}

void GpuDevice::free_async(void* p, void* stream) {
  ++frees;
  check(gpu::free_async(p, live(stream)), "cannot free ", p, " on stream ", stream);
}

void GpuDevice::copy(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind) {
  check(gpu::copy(dst, src, bytes, copy_kinds[kind]), "cannot copy ", bytes, " bytes from ", src,
        " to ", dst, " as kind ", kind);
  finish_default_stream();
}

void GpuDevice::copy_async(void* dst, const void* src, size_t bytes, infinirtMemcpyKind_t kind,
                           void* stream) {
  check(gpu::copy_async(dst, src, bytes, copy_kinds[kind], live(stream)), "cannot copy ", bytes,
        " bytes from ", src, " to ", dst, " as kind ", kind, " on stream ", stream);
}

void GpuDevice::copy_rows_async(void* dst, size_t dst_step, const void* src, size_t src_step,
                                size_t width, size_t rows, infinirtMemcpyKind_t kind,
                                void* stream) {
  check(gpu::copy_rows_async(dst, dst_step, src, src_step, width, rows, copy_kinds[kind],
                             live(stream)),
        "cannot copy ", rows, " rows of ", width, " bytes from ", src, " to ", dst, " as kind ",
        kind, " on stream ", stream);
}

bool GpuDevice::reaches_host(const void* p) {
  MemoryPlace place = MemoryPlace::unknown;
  int owner = -1;
  check(place_of(p, place, owner), "cannot ask where ", p, " points to");
  return place == MemoryPlace::host;
}

HostLink GpuDevice::host_link() const {
  HostLink link;
  link.bytes_per_ns = facts_.model.link_bytes_per_ns;
  link.mapped_bytes_per_ns = 0.88 * facts_.model.link_bytes_per_ns;
  link.memory_bytes_per_ns = 0.4 * facts_.model.memory_bytes_per_ns;
  return link;
}

bool GpuDevice::copy_from_peer(void* dst, const Device& from, const void* src, size_t bytes) {
  check(copy_peer(dst, id(), src, from.id(), bytes), "cannot copy ", bytes, " bytes from ", src,
        " on device ", from.id(), " to ", dst, " on device ", id());
  finish_default_stream();
  return true;
}

void GpuDevice::set(void* p, int value, size_t bytes) {
  check(gpu::set(p, value, bytes), "cannot set ", bytes, " bytes at ", p);
  finish_default_stream();
}

void GpuDevice::set_async(void* p, int value, size_t bytes, void* stream) {
  check(gpu::set_async(p, value, bytes, live(stream)), "cannot set ", bytes, " bytes at ", p,
        " on stream ", stream);
}

void GpuDevice::begin_capture(void* stream, infinirtStreamCaptureMode_t mode) {
  check(gpu::begin_capture(live(stream), capture_modes[mode]), "cannot capture stream ", stream);
}

void* GpuDevice::end_capture(void* stream) {
  Graph graph = nullptr;
  check(gpu::end_capture(live(stream), &graph), "cannot end the capture of stream ", stream);
  return graph;
}

void GpuDevice::destroy_graph(void* graph) {
  check(graph_destroy(static_cast<Graph>(graph)), "cannot destroy graph ", graph);
}

void* GpuDevice::instantiate_graph(void* graph) {
  GraphExec exec = nullptr;
  check(graph_instantiate(&exec, static_cast<Graph>(graph)), "cannot instantiate graph ", graph);
  return exec;
}

void GpuDevice::destroy_graph_exec(void* exec) {
  check(graph_exec_destroy(static_cast<GraphExec>(exec)), "cannot destroy executable graph ", exec);
}

void GpuDevice::launch_graph(void* exec, void* stream) {
  check(graph_launch(static_cast<GraphExec>(exec), live(stream)), "cannot launch graph ", exec,
        " on stream ", stream);
}

int device_count(std::string& why_none) {
  int count = 0;
  const Status status = get_device_count(&count);
  if (status != success) {
    take_last_error();
    why_none =
        std::string(vendor_title) + " says " + status_name(status) + ", " + status_text(status);
    return 0;
  }
  if (count == 0) why_none = std::string(vendor_title) + " finds no device";
  return count;
}

std::unique_ptr<Device> open_device(int id) { return std::make_unique<GpuDevice>(id); }

void require_reachable(const GpuDevice& device, const void* p, const char* argument) {
  const Known now{p, &device, frees.load(std::memory_order_relaxed)};
  Known& known = known_at(p);
  if (known.p == now.p && known.device == now.device && known.frees == now.frees) return;
  int owner = -1;
  MemoryPlace place = MemoryPlace::unknown;
  check(place_of(p, place, owner), "cannot ask where ", argument, " = ", p, " points to");
  require(place != MemoryPlace::unknown || device.facts().reads_host_memory,
          INFINI_STATUS_BAD_PARAM, argument, " = ", p, " is no memory that ", vendor_name,
          " device ", device.id(), " can reach (a plain host pointer?)");
  require(place != MemoryPlace::device || owner == device.id(), INFINI_STATUS_BAD_PARAM, argument,
          " = ", p, " is memory of ", vendor_name, " device ", owner, ", not of device ",
          device.id());
  known = now;
}

}  // namespace infini::gpu
