// The runtime of a CUDA-like vendor, by names of our own.
//
// All of them call the same things by the same names with a prefix of their own: VENDOR(Malloc) is
// cudaMalloc, musaMalloc or mcMalloc. Included by each vendor.h, which defines VENDOR and says what
// differs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/gpu/model/device_model.h"
#include "infinicore.h"

namespace infini::gpu {

using Status = VENDOR(Error_t);
using Stream = VENDOR(Stream_t);
using Event = VENDOR(Event_t);
using Graph = VENDOR(Graph_t);
using GraphExec = VENDOR(GraphExec_t);
using CopyKind = VENDOR(MemcpyKind);
using CaptureMode = VENDOR(StreamCaptureMode);

inline constexpr Status success = VENDOR(Success);
inline constexpr Status not_ready = VENDOR(ErrorNotReady);

inline const char* status_name(Status status) { return VENDOR(GetErrorName)(status); }
inline const char* status_text(Status status) { return VENDOR(GetErrorString)(status); }
inline Status take_last_error() { return VENDOR(GetLastError)(); }

// Which of our numbers says best what a vendor's error means.
inline infiniStatus_t our_status(Status status) {
  switch (status) {
    case VENDOR(ErrorInvalidDevice):
    case VENDOR(ErrorNoDevice): return INFINI_STATUS_DEVICE_NOT_FOUND;
    case VENDOR(ErrorInsufficientDriver):
    case VENDOR(ErrorInitializationError): return INFINI_STATUS_DEVICE_NOT_INITIALIZED;
    case VENDOR(ErrorNoKernelImageForDevice):
      return INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED;
    case VENDOR(ErrorInvalidValue):
    case VENDOR(ErrorInvalidResourceHandle):
    case VENDOR(ErrorInvalidDevicePointer): return INFINI_STATUS_BAD_PARAM;
    case VENDOR(ErrorMemoryAllocation): return INFINI_STATUS_OUT_OF_MEMORY;
    default: return INFINI_STATUS_INTERNAL_ERROR;
  }
}

inline constexpr unsigned stream_flags = VENDOR(StreamNonBlocking);
inline constexpr CopyKind copy_kinds[] = {VENDOR(MemcpyHostToHost), VENDOR(MemcpyHostToDevice),
                                          VENDOR(MemcpyDeviceToHost), VENDOR(MemcpyDeviceToDevice)};
inline constexpr CaptureMode capture_modes[] = {VENDOR(StreamCaptureModeGlobal),
                                                VENDOR(StreamCaptureModeThreadLocal),
                                                VENDOR(StreamCaptureModeRelaxed)};
inline constexpr unsigned event_disable_timing = VENDOR(EventDisableTiming);
inline constexpr unsigned event_blocking_sync = VENDOR(EventBlockingSync);

inline Status get_device_count(int* count) { return VENDOR(GetDeviceCount)(count); }
inline Status device_synchronize() { return VENDOR(DeviceSynchronize)(); }
inline Status memory_info(size_t* free, size_t* total) { return VENDOR(MemGetInfo)(free, total); }
inline Status stream_create(Stream* s) { return VENDOR(StreamCreateWithFlags)(s, stream_flags); }
inline Status stream_destroy(Stream s) { return VENDOR(StreamDestroy)(s); }
inline Status stream_is_capturing(Stream s, bool* capturing) {
  VENDOR(StreamCaptureStatus) status = VENDOR(StreamCaptureStatusNone);
  const Status result = VENDOR(StreamIsCapturing)(s, &status);
  *capturing = status != VENDOR(StreamCaptureStatusNone);
  return result;
}
inline Status stream_synchronize(Stream s) { return VENDOR(StreamSynchronize)(s); }
inline Status stream_wait_event(Stream s, Event e) { return VENDOR(StreamWaitEvent)(s, e, 0); }
inline Status event_create(Event* e, unsigned flags) {
  return VENDOR(EventCreateWithFlags)(e, flags);
}
inline Status event_destroy(Event e) { return VENDOR(EventDestroy)(e); }
inline Status event_record(Event e, Stream s) { return VENDOR(EventRecord)(e, s); }
inline Status event_query(Event e) { return VENDOR(EventQuery)(e); }
inline Status event_synchronize(Event e) { return VENDOR(EventSynchronize)(e); }
inline Status event_elapsed(float* ms, Event a, Event b) {
  return VENDOR(EventElapsedTime)(ms, a, b);
}
inline Status allocate(void** p, size_t n) { return VENDOR(Malloc)(p, n); }
inline Status free(void* p) { return VENDOR(Free)(p); }
inline Status allocate_host(void** p, size_t n) { return VENDOR(MallocHost)(p, n); }
inline Status free_host(void* p) { return VENDOR(FreeHost)(p); }
inline Status allocate_async(void** p, size_t n, Stream s) { return VENDOR(MallocAsync)(p, n, s); }
inline Status free_async(void* p, Stream s) { return VENDOR(FreeAsync)(p, s); }
inline Status copy(void* d, const void* s, size_t n, CopyKind k) {
  return VENDOR(Memcpy)(d, s, n, k);
}
inline Status copy_peer(void* dst, int dst_device, const void* src, int src_device, size_t bytes) {
  return VENDOR(MemcpyPeer)(dst, dst_device, src, src_device, bytes);
}
inline Status copy_async(void* dst, const void* src, size_t bytes, CopyKind kind, Stream stream) {
  return VENDOR(MemcpyAsync)(dst, src, bytes, kind, stream);
}
inline Status copy_rows_async(void* dst, size_t dst_step, const void* src, size_t src_step,
                              size_t width, size_t rows, CopyKind kind, Stream stream) {
  return VENDOR(Memcpy2DAsync)(dst, dst_step, src, src_step, width, rows, kind, stream);
}
inline Status set(void* p, int value, size_t bytes) { return VENDOR(Memset)(p, value, bytes); }
inline Status set_async(void* p, int value, size_t bytes, Stream stream) {
  return VENDOR(MemsetAsync)(p, value, bytes, stream);
}
inline Status begin_capture(Stream s, CaptureMode m) { return VENDOR(StreamBeginCapture)(s, m); }
inline Status end_capture(Stream s, Graph* g) { return VENDOR(StreamEndCapture)(s, g); }
inline Status graph_destroy(Graph g) { return VENDOR(GraphDestroy)(g); }
inline Status graph_instantiate(GraphExec* e, Graph g) { return VENDOR(GraphInstantiate)(e, g, 0); }
inline Status graph_exec_destroy(GraphExec e) { return VENDOR(GraphExecDestroy)(e); }
inline Status graph_launch(GraphExec e, Stream s) { return VENDOR(GraphLaunch)(e, s); }

// The address by which a vendor's runtime finds a kernel; an emulator must also learn how to call it.
template <class... Parameters>
const void* kernel_address(void (*kernel)(Parameters...)) {
#ifdef SIMT_EMULATOR
  return simtKernelAddress(kernel);
#else
  return reinterpret_cast<const void*>(kernel);
#endif
}

inline Status launch(const void* kernel, unsigned blocks, unsigned threads, const void** arguments,
                     size_t shared_bytes, Stream stream) {
  return VENDOR(LaunchKernel)(kernel, dim3(blocks), dim3(threads), const_cast<void**>(arguments),
                              shared_bytes, stream);
}

struct DeviceFacts {
  char name[256];
  int processors;
  size_t memory_bytes;
  bool reads_host_memory;  // kernels may use any host pointer
  bool early_launch;       // launch_early() may be used
  DeviceModel model;
};

inline Status device_facts(int id, DeviceFacts& facts) {
  VENDOR(DeviceProp) properties;
  const Status status = VENDOR(GetDeviceProperties)(&properties, id);
  if (status != success) return status;
  for (size_t i = 0; i < sizeof facts.name; ++i) facts.name[i] = properties.name[i];
  facts.processors = properties.multiProcessorCount;
  facts.memory_bytes = properties.totalGlobalMem;
  facts.reads_host_memory = reads_host_memory(properties);
  facts.early_launch = can_launch_early(properties);
  facts.model.processors = properties.multiProcessorCount;
  ask_model(id, facts.model);
  return success;
}

enum class MemoryPlace { unknown, host, device };

// Where a pointer points to and, for device memory, on which device.
inline Status place_of(const void* p, MemoryPlace& place, int& device) {
  VENDOR(PointerAttributes) attributes;
  place = MemoryPlace::unknown;
  const Status status = VENDOR(PointerGetAttributes)(&attributes, p);
  if (status == VENDOR(ErrorInvalidValue)) {  // older runtimes say so of host memory
    take_last_error();
    return success;
  }
  if (status != success) return status;
  device = attributes.device;
  if (attributes.type == VENDOR(MemoryTypeDevice))
    place = MemoryPlace::device;
  else if (attributes.type != VENDOR(MemoryTypeUnregistered))
    place = MemoryPlace::host;
  return success;
}

}  // namespace infini::gpu
