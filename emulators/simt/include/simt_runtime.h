// The emulated runtime of the CUDA dialect, by neutral names. Each vendor's header (musa_runtime.h,
// mcr/mc_runtime.h, cuda_runtime.h) is generated from names.txt and maps its names to these.
#pragma once

#include <cstddef>
#include <cstdint>

#define SIMT_EMULATOR 1  // how a program knows that the device is emulated
#define SIMT_EXPORT __attribute__((visibility("default")))

enum simtError_t : int {
  simtSuccess = 0,
  simtErrorInvalidValue = 1,
  simtErrorMemoryAllocation = 2,
  simtErrorInitializationError = 3,
  simtErrorInvalidConfiguration = 9,
  simtErrorInvalidDevicePointer = 17,
  simtErrorInsufficientDriver = 35,
  simtErrorInvalidDeviceFunction = 98,
  simtErrorNoDevice = 100,
  simtErrorInvalidDevice = 101,
  simtErrorNoKernelImageForDevice = 209,
  simtErrorInvalidResourceHandle = 400,
  simtErrorIllegalState = 401,
  simtErrorNotReady = 600,
  simtErrorIllegalAddress = 700,
  simtErrorMisalignedAddress = 716,
  simtErrorLaunchFailure = 719,
  simtErrorStreamCaptureUnsupported = 900,
  simtErrorStreamCaptureInvalidated = 901,
  simtErrorStreamCaptureMerge = 902,
  simtErrorStreamCaptureUnmatched = 903,
  simtErrorStreamCaptureUnjoined = 904,
  simtErrorStreamCaptureIsolation = 905,
  simtErrorCapturedEvent = 907,
  simtErrorStreamCaptureWrongThread = 908,
};
enum simtMemcpyKind : int {
  simtMemcpyHostToHost = 0,
  simtMemcpyHostToDevice = 1,
  simtMemcpyDeviceToHost = 2,
  simtMemcpyDeviceToDevice = 3,
};
enum simtMemoryType : int {
  simtMemoryTypeUnregistered = 0,
  simtMemoryTypeHost = 1,
  simtMemoryTypeDevice = 2,
};
enum simtStreamCaptureMode : int {
  simtStreamCaptureModeGlobal = 0,
  simtStreamCaptureModeThreadLocal = 1,
  simtStreamCaptureModeRelaxed = 2,
};
enum simtStreamCaptureStatus : int {
  simtStreamCaptureStatusNone = 0,
  simtStreamCaptureStatusActive = 1,
  simtStreamCaptureStatusInvalidated = 2,
};
enum : unsigned {
  simtStreamNonBlocking = 1,
  simtEventBlockingSync = 1,
  simtEventDisableTiming = 2
};

using simtStream_t = struct simtStream*;
using simtEvent_t = struct simtEvent*;
using simtGraph_t = struct simtGraph*;
using simtGraphExec_t = struct simtGraphExec*;

struct simtDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int multiProcessorCount, warpSize, major, minor;
  int pageableMemoryAccess;
};
struct simtPointerAttributes {
  simtMemoryType type;
  int device;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
};

extern "C" {
SIMT_EXPORT const char* simtGetErrorName(simtError_t error);
SIMT_EXPORT const char* simtGetErrorString(simtError_t error);
SIMT_EXPORT simtError_t simtGetLastError();
SIMT_EXPORT simtError_t simtPeekAtLastError();

SIMT_EXPORT simtError_t simtGetDeviceCount(int* count);
SIMT_EXPORT simtError_t simtGetDevice(int* device);
SIMT_EXPORT simtError_t simtSetDevice(int device);
SIMT_EXPORT simtError_t simtGetDeviceProperties(simtDeviceProp* properties, int device);
SIMT_EXPORT simtError_t simtDeviceSynchronize();

SIMT_EXPORT simtError_t simtStreamCreateWithFlags(simtStream_t* stream, unsigned flags);
SIMT_EXPORT simtError_t simtStreamDestroy(simtStream_t stream);
SIMT_EXPORT simtError_t simtStreamSynchronize(simtStream_t stream);
SIMT_EXPORT simtError_t simtStreamWaitEvent(simtStream_t stream, simtEvent_t event, unsigned flags);
SIMT_EXPORT simtError_t simtEventCreateWithFlags(simtEvent_t* event, unsigned flags);
SIMT_EXPORT simtError_t simtEventDestroy(simtEvent_t event);
SIMT_EXPORT simtError_t simtEventRecord(simtEvent_t event, simtStream_t stream);
SIMT_EXPORT simtError_t simtEventQuery(simtEvent_t event);
SIMT_EXPORT simtError_t simtEventSynchronize(simtEvent_t event);
SIMT_EXPORT simtError_t simtEventElapsedTime(float* ms, simtEvent_t start, simtEvent_t end);

SIMT_EXPORT simtError_t simtMemGetInfo(size_t* free, size_t* total);
SIMT_EXPORT simtError_t simtMalloc(void** p, size_t bytes);
SIMT_EXPORT simtError_t simtFree(void* p);
SIMT_EXPORT simtError_t simtMallocHost(void** p, size_t bytes);
SIMT_EXPORT simtError_t simtFreeHost(void* p);
SIMT_EXPORT simtError_t simtMallocAsync(void** p, size_t bytes, simtStream_t stream);
SIMT_EXPORT simtError_t simtFreeAsync(void* p, simtStream_t stream);
SIMT_EXPORT simtError_t simtPointerGetAttributes(simtPointerAttributes* out, const void* p);

SIMT_EXPORT simtError_t simtMemcpy(void* dst, const void* src, size_t bytes, simtMemcpyKind kind);
SIMT_EXPORT simtError_t simtMemcpyAsync(void* dst, const void* src, size_t bytes,
                                        simtMemcpyKind kind, simtStream_t stream);
SIMT_EXPORT simtError_t simtMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src,
                                          size_t src_pitch, size_t width, size_t height,
                                          simtMemcpyKind kind, simtStream_t stream);
SIMT_EXPORT simtError_t simtMemcpyPeer(void* dst, int dst_device, const void* src, int src_device,
                                       size_t bytes);
SIMT_EXPORT simtError_t simtMemset(void* p, int value, size_t bytes);
SIMT_EXPORT simtError_t simtMemsetAsync(void* p, int value, size_t bytes, simtStream_t stream);

SIMT_EXPORT simtError_t simtStreamBeginCapture(simtStream_t stream, simtStreamCaptureMode mode);
SIMT_EXPORT simtError_t simtStreamEndCapture(simtStream_t stream, simtGraph_t* graph);
SIMT_EXPORT simtError_t simtStreamIsCapturing(simtStream_t stream, simtStreamCaptureStatus* status);
SIMT_EXPORT simtError_t simtGraphInstantiate(simtGraphExec_t* exec, simtGraph_t graph,
                                             unsigned long long flags);
SIMT_EXPORT simtError_t simtGraphDestroy(simtGraph_t graph);
SIMT_EXPORT simtError_t simtGraphExecDestroy(simtGraphExec_t exec);
SIMT_EXPORT simtError_t simtGraphLaunch(simtGraphExec_t exec, simtStream_t stream);

// `kernel` must be known by simtKernelAddress() (simt_kernel.h).
SIMT_EXPORT simtError_t simtLaunchKernel(const void* kernel, dim3 grid, dim3 block,
                                         void** arguments, size_t shared_bytes,
                                         simtStream_t stream);
// As above, but the kernel may begin before the work in front of it has ended: it must call
// simtWaitForPredecessor() before it touches memory.
SIMT_EXPORT simtError_t simtLaunchKernelEarly(const void* kernel, dim3 grid, dim3 block,
                                              void** arguments, size_t shared_bytes,
                                              simtStream_t stream);
}

#include "simt_kernel.h"
