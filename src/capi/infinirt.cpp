// infinirt.h: each function checks its arguments and calls the current device.
#include "infinirt.h"

#include <cstring>

#include "capi/boundary.h"
#include "runtime/current_device.h"
#include "runtime/registry.h"

using namespace infini;

namespace {

// The current device, also in the eyes of its vendor's runtime.
Device& here() {
  Device& device = current_device();
  device.make_current();
  return device;
}

// `out` receives what `make` returns, null when it fails.
template <class Make>
infiniStatus_t create(void** out, const char* argument, Make make) {
  return at_boundary([&] {
    require_out(out, argument);
    *out = make(here());
  });
}

template <class Use>
infiniStatus_t with(void* object, const char* argument, Use use) {
  return at_boundary([&] {
    require_pointer(object, argument);
    use(here());
  });
}

// The memory of any device; the thread's current device stays what it is.
MemoryInfo memory_of(infiniDevice_t kind, int id) {
  Device& device = open_device(kind, id);
  device.make_current();
  const MemoryInfo info = device.memory_info();
  current_device().make_current();
  return info;
}

// Nothing to do for 0 bytes, whatever the pointers.
bool copies_something(const void* dst, const void* src, size_t size, infinirtMemcpyKind_t kind) {
  require(kind >= INFINIRT_MEMCPY_H2H && kind <= INFINIRT_MEMCPY_D2D, INFINI_STATUS_BAD_PARAM,
          "kind is ", static_cast<int>(kind), "; expected 0..3 (H2H, H2D, D2H, D2D)");
  if (size == 0) return false;
  require_pointer(dst, "dst");
  require_pointer(src, "src");
  return true;
}

}  // namespace

infiniStatus_t infinirtInit(void) {
  return at_boundary([] { here(); });
}

infiniStatus_t infinirtGetAllDeviceCount(int* counts) {
  return at_boundary([&] {
    require_pointer(counts, "counts");
    for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i)
      counts[i] = device_count(static_cast<infiniDevice_t>(i));
  });
}

infiniStatus_t infinirtGetDeviceCount(infiniDevice_t device, int* count) {
  return at_boundary([&] {
    require_pointer(count, "count");
    *count = device_count(device);
  });
}

infiniStatus_t infinirtSetDevice(infiniDevice_t device, int device_id) {
  return at_boundary([&] { set_current_device(device, device_id); });
}

infiniStatus_t infinirtGetDevice(infiniDevice_t* device, int* device_id) {
  return at_boundary([&] {
    require(device || device_id, INFINI_STATUS_NULL_POINTER, "device and device_id are both NULL");
    const Device& current = current_device();
    if (device) *device = current.kind();
    if (device_id) *device_id = current.id();
  });
}

infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id, size_t* free_bytes,
                                  size_t* total_bytes) {
  return at_boundary([&] {
    require_pointer(free_bytes, "free_bytes");
    require_pointer(total_bytes, "total_bytes");
    const MemoryInfo info = memory_of(device, device_id);
    *free_bytes = info.free_bytes;
    *total_bytes = info.total_bytes;
  });
}

infiniStatus_t infinirtGetDeviceResourceSnapshot(infiniDevice_t device, int device_id,
                                                 infinirtDeviceResourceSnapshot_t* snapshot) {
  return at_boundary([&] {
    require_pointer(snapshot, "snapshot");
    const MemoryInfo info = memory_of(device, device_id);
    infinirtDeviceResourceSnapshot_t filled{};
    filled.device_type = device;
    filled.device_id = device_id;
    filled.valid_fields = INFINIRT_DEVICE_RESOURCE_FIELD_CAPACITY;
    filled.free_bytes = info.free_bytes;
    filled.total_bytes = info.total_bytes;
    filled.used_bytes = info.total_bytes - info.free_bytes;
    *snapshot = filled;
  });
}

infiniStatus_t infinirtDescribeDevice(infiniDevice_t device, int device_id, char* text,
                                      size_t size) {
  return at_boundary([&] {
    require_pointer(text, "text");
    require(size > 0, INFINI_STATUS_BAD_PARAM, "size is 0; there must be room for the final NUL");
    std::string words;
    if (device_count(device, &words) > 0) words = open_device(device, device_id).description();
    const size_t length = words.copy(text, size - 1);
    text[length] = '\0';
  });
}

infiniStatus_t infinirtDeviceSynchronize(void) {
  return at_boundary([] { here().synchronize(); });
}

infiniStatus_t infinirtStreamCreate(infinirtStream_t* stream) {
  return create(stream, "stream", [](Device& device) { return device.create_stream(); });
}

infiniStatus_t infinirtStreamDestroy(infinirtStream_t stream) {
  return destroy_unless_null(stream, [=] { here().destroy_stream(stream); });
}

infiniStatus_t infinirtStreamSynchronize(infinirtStream_t stream) {
  return at_boundary([&] { here().synchronize_stream(stream); });
}

infiniStatus_t infinirtStreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event) {
  return with(event, "event", [=](Device& device) { device.stream_wait_event(stream, event); });
}

infiniStatus_t infinirtEventCreate(infinirtEvent_t* event) {
  return infinirtEventCreateWithFlags(event, INFINIRT_EVENT_DEFAULT);
}

infiniStatus_t infinirtEventCreateWithFlags(infinirtEvent_t* event, uint32_t flags) {
  return create(event, "event", [=](Device& device) {
    require(flags <= (INFINIRT_EVENT_DISABLE_TIMING | INFINIRT_EVENT_BLOCKING_SYNC),
            INFINI_STATUS_BAD_PARAM, "flags is ", flags,
            "; expected a combination of DISABLE_TIMING (1) and BLOCKING_SYNC (2)");
    return device.create_event(flags);
  });
}

infiniStatus_t infinirtEventRecord(infinirtEvent_t event, infinirtStream_t stream) {
  return with(event, "event", [=](Device& device) { device.record_event(event, stream); });
}

infiniStatus_t infinirtEventQuery(infinirtEvent_t event, infinirtEventStatus_t* status) {
  return with(event, "event", [=](Device& device) {
    require_pointer(status, "status");
    *status = device.event_complete(event) ? INFINIRT_EVENT_COMPLETE : INFINIRT_EVENT_NOT_READY;
  });
}

infiniStatus_t infinirtEventSynchronize(infinirtEvent_t event) {
  return with(event, "event", [=](Device& device) { device.synchronize_event(event); });
}

infiniStatus_t infinirtEventDestroy(infinirtEvent_t event) {
  return destroy_unless_null(event, [=] { here().destroy_event(event); });
}

infiniStatus_t infinirtEventElapsedTime(float* milliseconds, infinirtEvent_t start,
                                        infinirtEvent_t end) {
  return with(start, "start", [=](Device& device) {
    require_pointer(end, "end");
    require_pointer(milliseconds, "milliseconds");
    *milliseconds = device.elapsed_milliseconds(start, end);
  });
}

infiniStatus_t infinirtMalloc(void** p, size_t size) {
  return create(p, "p", [=](Device& device) { return size ? device.allocate(size) : nullptr; });
}

infiniStatus_t infinirtMallocHost(void** p, size_t size) {
  return create(p, "p",
                [=](Device& device) { return size ? device.allocate_host(size) : nullptr; });
}

infiniStatus_t infinirtFree(void* p) {
  return at_boundary([=] {
    if (p) here().free(p);
  });
}

infiniStatus_t infinirtFreeHost(void* p) {
  return at_boundary([=] {
    if (p) here().free_host(p);
  });
}

infiniStatus_t infinirtMallocAsync(void** p, size_t size, infinirtStream_t stream) {
  return create(
      p, "p", [=](Device& device) { return size ? device.allocate_async(size, stream) : nullptr; });
}

infiniStatus_t infinirtFreeAsync(void* p, infinirtStream_t stream) {
  return at_boundary([=] {
    if (p) here().free_async(p, stream);
  });
}

infiniStatus_t infinirtMemcpy(void* dst, const void* src, size_t size, infinirtMemcpyKind_t kind) {
  return at_boundary([=] {
    if (copies_something(dst, src, size, kind)) here().copy(dst, src, size, kind);
  });
}

infiniStatus_t infinirtMemcpyAsync(void* dst, const void* src, size_t size,
                                   infinirtMemcpyKind_t kind, infinirtStream_t stream) {
  return at_boundary([=] {
    if (copies_something(dst, src, size, kind)) here().copy_async(dst, src, size, kind, stream);
  });
}

infiniStatus_t infinirtMemset(void* p, int value, size_t count) {
  return at_boundary([=] {
    if (count == 0) return;
    require_pointer(p, "p");
    here().set(p, value, count);
  });
}

infiniStatus_t infinirtMemsetAsync(void* p, int value, size_t count, infinirtStream_t stream) {
  return at_boundary([=] {
    if (count == 0) return;
    require_pointer(p, "p");
    here().set_async(p, value, count, stream);
  });
}

infiniStatus_t infinirtStreamBeginCapture(infinirtStream_t stream,
                                          infinirtStreamCaptureMode_t mode) {
  return at_boundary([=] {
    require(
        mode >= INFINIRT_STREAM_CAPTURE_MODE_GLOBAL && mode <= INFINIRT_STREAM_CAPTURE_MODE_RELAXED,
        INFINI_STATUS_BAD_PARAM, "mode is ", static_cast<int>(mode), "; expected 0..2");
    here().begin_capture(stream, mode);
  });
}

infiniStatus_t infinirtStreamEndCapture(infinirtStream_t stream, infinirtGraph_t* graph) {
  return create(graph, "graph", [=](Device& device) { return device.end_capture(stream); });
}

infiniStatus_t infinirtGraphDestroy(infinirtGraph_t graph) {
  return destroy_unless_null(graph, [=] { here().destroy_graph(graph); });
}

infiniStatus_t infinirtGraphInstantiate(infinirtGraphExec_t* exec, infinirtGraph_t graph,
                                        infinirtGraphNode_t* node, char* log, size_t log_size) {
  if (node) *node = nullptr;
  if (log && log_size > 0) log[0] = '\0';
  const infiniStatus_t status = create(exec, "exec", [=](Device& device) {
    require_pointer(graph, "graph");
    return device.instantiate_graph(graph);
  });
  if (status != INFINI_STATUS_SUCCESS && log && log_size > 0) {
    std::strncpy(log, last_error(), log_size - 1);
    log[log_size - 1] = '\0';
  }
  return status;
}

infiniStatus_t infinirtGraphExecDestroy(infinirtGraphExec_t exec) {
  return destroy_unless_null(exec, [=] { here().destroy_graph_exec(exec); });
}

infiniStatus_t infinirtGraphLaunch(infinirtGraphExec_t exec, infinirtStream_t stream) {
  return with(exec, "exec", [=](Device& device) { device.launch_graph(exec, stream); });
}

infiniStatus_t infinirtGraphLuanch(infinirtGraphExec_t exec, infinirtStream_t stream) {
  return infinirtGraphLaunch(exec, stream);
}
