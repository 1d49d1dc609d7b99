// NVIDIA's names for what the shared GPU source needs.
//
// Every CUDA-like vendor has such a header; backends/gpu includes it as "vendor.h" and uses nothing
// of the vendor's but what stands here and the CUDA dialect of the language.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "infinicore.h"

namespace infini::gpu {

inline constexpr const char* vendor_name = "nvidia";
inline constexpr const char* vendor_title = "CUDA";
inline constexpr infiniDevice_t vendor_kind = INFINI_DEVICE_NVIDIA;

// What a block may use without asking, and how much it moves at a time.
inline constexpr int shared_bytes_per_block = 48 * 1024;
inline constexpr int tile_bytes = 24 * 1024, least_tile_bytes = 4 * 1024;
inline constexpr int least_plane_bytes = 8 * 1024;

// Threads that a processor can hold, of the architecture that is being compiled for.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr int threads_per_processor = 1024;
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 1200 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900))
inline constexpr int threads_per_processor = 1536;
#else
inline constexpr int threads_per_processor = 2048;
#endif

using Status = cudaError_t;
using Stream = cudaStream_t;
using Event = cudaEvent_t;
using Graph = cudaGraph_t;
using GraphExec = cudaGraphExec_t;
using CopyKind = cudaMemcpyKind;
using CaptureMode = cudaStreamCaptureMode;

inline constexpr Status success = cudaSuccess;
inline constexpr Status not_ready = cudaErrorNotReady;

inline const char* status_name(Status status) { return cudaGetErrorName(status); }
inline const char* status_text(Status status) { return cudaGetErrorString(status); }
inline Status take_last_error() { return cudaGetLastError(); }

// Which of our numbers says best what a vendor's error means.
inline infiniStatus_t our_status(Status status) {
  switch (status) {
    case cudaErrorInvalidDevice:
    case cudaErrorNoDevice:
      return INFINI_STATUS_DEVICE_NOT_FOUND;
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
      return INFINI_STATUS_DEVICE_NOT_INITIALIZED;
    case cudaErrorNoKernelImageForDevice:
      return INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidDevicePointer:
      return INFINI_STATUS_BAD_PARAM;
    default:
      return INFINI_STATUS_INTERNAL_ERROR;
  }
}

inline constexpr unsigned stream_flags = cudaStreamNonBlocking;
inline constexpr CopyKind copy_kinds[] = {cudaMemcpyHostToHost, cudaMemcpyHostToDevice,
                                          cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
inline constexpr CaptureMode capture_modes[] = {
    cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed};
inline constexpr unsigned event_disable_timing = cudaEventDisableTiming;
inline constexpr unsigned event_blocking_sync = cudaEventBlockingSync;

inline Status get_device_count(int* count) { return cudaGetDeviceCount(count); }
// Asking is cheaper than telling.
inline Status set_device(int id) {
  int current = -1;
  return cudaGetDevice(&current) == success && current == id ? success : cudaSetDevice(id);
}
inline Status device_synchronize() { return cudaDeviceSynchronize(); }
inline Status memory_info(size_t* free, size_t* total) { return cudaMemGetInfo(free, total); }
inline Status stream_create(Stream* s) { return cudaStreamCreateWithFlags(s, stream_flags); }
inline Status stream_destroy(Stream s) { return cudaStreamDestroy(s); }
inline Status stream_is_capturing(Stream s, bool* capturing) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const Status result = cudaStreamIsCapturing(s, &status);
  *capturing = status != cudaStreamCaptureStatusNone;
  return result;
}
inline Status stream_synchronize(Stream s) { return cudaStreamSynchronize(s); }
inline Status stream_wait_event(Stream s, Event e) { return cudaStreamWaitEvent(s, e, 0); }
inline Status event_create(Event* e, unsigned flags) { return cudaEventCreateWithFlags(e, flags); }
inline Status event_destroy(Event e) { return cudaEventDestroy(e); }
inline Status event_record(Event e, Stream s) { return cudaEventRecord(e, s); }
inline Status event_query(Event e) { return cudaEventQuery(e); }
inline Status event_synchronize(Event e) { return cudaEventSynchronize(e); }
inline Status event_elapsed(float* ms, Event a, Event b) { return cudaEventElapsedTime(ms, a, b); }
inline Status allocate(void** p, size_t n) { return cudaMalloc(p, n); }
inline Status free(void* p) { return cudaFree(p); }
inline Status allocate_host(void** p, size_t n) { return cudaMallocHost(p, n); }
inline Status free_host(void* p) { return cudaFreeHost(p); }
inline Status allocate_async(void** p, size_t n, Stream s) { return cudaMallocAsync(p, n, s); }
inline Status free_async(void* p, Stream s) { return cudaFreeAsync(p, s); }
inline Status copy(void* d, const void* s, size_t n, CopyKind k) { return cudaMemcpy(d, s, n, k); }
inline Status copy_peer(void* dst, int dst_device, const void* src, int src_device, size_t bytes) {
  return cudaMemcpyPeer(dst, dst_device, src, src_device, bytes);
}
inline Status copy_async(void* dst, const void* src, size_t bytes, CopyKind kind, Stream stream) {
  return cudaMemcpyAsync(dst, src, bytes, kind, stream);
}
inline Status set(void* p, int value, size_t bytes) { return cudaMemset(p, value, bytes); }
inline Status set_async(void* p, int value, size_t bytes, Stream stream) {
  return cudaMemsetAsync(p, value, bytes, stream);
}
inline Status begin_capture(Stream s, CaptureMode m) { return cudaStreamBeginCapture(s, m); }
inline Status end_capture(Stream s, Graph* g) { return cudaStreamEndCapture(s, g); }
inline Status graph_destroy(Graph g) { return cudaGraphDestroy(g); }
inline Status graph_instantiate(GraphExec* e, Graph g) { return cudaGraphInstantiate(e, g, 0); }
inline Status graph_exec_destroy(GraphExec e) { return cudaGraphExecDestroy(e); }
inline Status graph_launch(GraphExec e, Stream s) { return cudaGraphLaunch(e, s); }

inline Status launch(const void* kernel, unsigned blocks, unsigned threads, const void** arguments,
                     size_t shared_bytes, Stream stream) {
  return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), const_cast<void**>(arguments),
                          shared_bytes, stream);
}

// As launch(), but the kernel may begin while the work before it ends; it calls
// wait_for_predecessor() before it touches memory.
inline Status launch_early(const void* kernel, unsigned blocks, unsigned threads,
                           const void** arguments, size_t shared_bytes, Stream stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, kernel, const_cast<void**>(arguments));
}

// Kernels that follow one another closely should divide a processor's memory into cache and shared
// memory in the same way: between different ways it must first run empty.
inline Status divide_memory_evenly(const void* kernel) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50);
}

struct DeviceFacts {
  char name[256];
  int processors;
  size_t memory_bytes;
  bool reads_host_memory;  // kernels may use any host pointer
  bool early_launch;       // launch_early() may be used
};

inline Status device_facts(int id, DeviceFacts& facts) {
  cudaDeviceProp properties;
  const Status status = cudaGetDeviceProperties(&properties, id);
  if (status != success) return status;
  for (size_t i = 0; i < sizeof facts.name; ++i) facts.name[i] = properties.name[i];
  facts.processors = properties.multiProcessorCount;
  facts.memory_bytes = properties.totalGlobalMem;
  facts.reads_host_memory = properties.pageableMemoryAccess != 0;
  facts.early_launch = properties.major >= 9;
  return success;
}

enum class MemoryPlace { unknown, host, device };

// Where a pointer points to and, for device memory, on which device.
inline MemoryPlace place_of(const void* p, int& device) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, p) != success) {
    cudaGetLastError();
    return MemoryPlace::unknown;
  }
  device = attributes.device;
  if (attributes.type == cudaMemoryTypeDevice) return MemoryPlace::device;
  return attributes.type == cudaMemoryTypeUnregistered ? MemoryPlace::unknown : MemoryPlace::host;
}

#ifdef __CUDACC__
// Copies 16 aligned bytes from global to shared memory; they are there after stage_wait() and a
// barrier. Since sm_80 without a detour through registers.
__device__ inline void stage_vector(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
#endif
}

// Once every block has said this (or ended), a successor that was launched early may take its place.
__device__ inline void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Waits until all work before this kernel is done and its writes can be seen. What `known` depends on
// is computed before: left to itself, the compiler begins with the wait and computes afterwards. The
// condition is always true (blocks have more than one thread), which the compiler does not know.
__device__ inline void wait_when_known(uint32_t known) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred p;\nsetp.lt.u32 p, %0, %1;\n@p griddepcontrol.wait;\n}" ::"r"(known & 1),
               "r"(blockDim.x)
               : "memory");
#endif
}

__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  let_successor_start();
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Byte i of the result is the byte of high:low that hexadecimal digit i of `selector` names.
__device__ inline uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
  return __byte_perm(low, high, selector);
}

__device__ inline void stage_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
#endif

}  // namespace infini::gpu
