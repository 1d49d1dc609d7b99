// What every call begins and ends with: planned failures, failed devices, what a capture forbids,
// and the thread's last error. Also the devices themselves.
#include <cstdio>
#include <cstring>

#include "state.h"

namespace simt {
namespace {

thread_local int thread_device = 0;
thread_local Error last_error = simtSuccess;

struct Words {
  Error error;
  const char *name, *text;
};
constexpr Words words[] = {
    {simtSuccess, "simtSuccess", "no error"},
    {simtErrorInvalidValue, "simtErrorInvalidValue", "invalid argument"},
    {simtErrorMemoryAllocation, "simtErrorMemoryAllocation", "out of memory"},
    {simtErrorInitializationError, "simtErrorInitializationError", "initialization error"},
    {simtErrorInvalidConfiguration, "simtErrorInvalidConfiguration", "invalid configuration"},
    {simtErrorInvalidDevicePointer, "simtErrorInvalidDevicePointer", "invalid device pointer"},
    {simtErrorInsufficientDriver, "simtErrorInsufficientDriver", "driver too old"},
    {simtErrorInvalidDeviceFunction, "simtErrorInvalidDeviceFunction", "unknown kernel"},
    {simtErrorNoDevice, "simtErrorNoDevice", "no device is there"},
    {simtErrorInvalidDevice, "simtErrorInvalidDevice", "invalid device ordinal"},
    {simtErrorNoKernelImageForDevice, "simtErrorNoKernelImageForDevice", "no kernel image"},
    {simtErrorInvalidResourceHandle, "simtErrorInvalidResourceHandle", "invalid resource handle"},
    {simtErrorIllegalState, "simtErrorIllegalState", "not in this state"},
    {simtErrorNotReady, "simtErrorNotReady", "device not ready"},
    {simtErrorIllegalAddress, "simtErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {simtErrorMisalignedAddress, "simtErrorMisalignedAddress", "misaligned address"},
    {simtErrorLaunchFailure, "simtErrorLaunchFailure", "unspecified launch failure"},
    {simtErrorStreamCaptureUnsupported, "simtErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {simtErrorStreamCaptureInvalidated, "simtErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {simtErrorStreamCaptureMerge, "simtErrorStreamCaptureMerge", "two captures would merge"},
    {simtErrorStreamCaptureUnmatched, "simtErrorStreamCaptureUnmatched",
     "the capture was not begun in this stream"},
    {simtErrorStreamCaptureUnjoined, "simtErrorStreamCaptureUnjoined",
     "the capture has forked work that was not joined"},
    {simtErrorStreamCaptureIsolation, "simtErrorStreamCaptureIsolation",
     "a dependency would cross the capture's boundary"},
    {simtErrorCapturedEvent, "simtErrorCapturedEvent", "the event was recorded in a capture"},
    {simtErrorStreamCaptureWrongThread, "simtErrorStreamCaptureWrongThread",
     "the capture was begun by another thread"},
};

const Words& words_of(Error error) {
  static constexpr Words unknown{simtErrorInvalidValue, "simtErrorUnknown", "unknown error"};
  for (const Words& each : words)
    if (each.error == error) return each;
  return unknown;
}

// Global captures forbid to everybody, thread-local ones to their thread.
Error forbidden_by_captures() {
  Error result = simtSuccess;
  for (const auto& weak : state().captures) {
    const auto capture = weak.lock();
    if (!capture || capture->ended || capture->mode == simtStreamCaptureModeRelaxed) continue;
    if (capture->mode == simtStreamCaptureModeThreadLocal &&
        capture->thread != std::this_thread::get_id())
      continue;
    capture->invalidated = true;
    result = simtErrorStreamCaptureUnsupported;
  }
  return result;
}

}  // namespace

int& current_device() { return thread_device; }

Error enter(unsigned traits) {
  State& s = state();
  ++s.calls;
  if (traits & waits) ++s.stats.waits;
  if (s.fail_call != 0 && --s.fail_call == 0) return s.fail_with;
  if (s.device_count == 0) return simtErrorNoDevice;
  if (traits & unsafe)
    if (const Error error = forbidden_by_captures()) return error;
  return traits & keeps_on ? simtSuccess : s.devices[thread_device].error;
}

Error leave(Error error) {
  if (error != simtSuccess) last_error = error;
  return error;
}

}  // namespace simt

using namespace simt;

const char* simtGetErrorName(simtError_t error) { return words_of(error).name; }
const char* simtGetErrorString(simtError_t error) { return words_of(error).text; }
simtError_t simtGetLastError() {
  const Error error = last_error;
  last_error = simtSuccess;
  return error;
}
simtError_t simtPeekAtLastError() { return last_error; }

simtError_t simtGetDeviceCount(int* count) {
  return call(keeps_on, [&] {
    *count = state().device_count;
    return simtSuccess;
  });
}
simtError_t simtGetDevice(int* device) {
  *device = thread_device;
  return simtSuccess;
}
simtError_t simtSetDevice(int device) {
  return call(keeps_on, [&] {
    if (device < 0 || device >= state().device_count) return simtErrorInvalidDevice;
    thread_device = device;
    return simtSuccess;
  });
}
simtError_t simtGetDeviceProperties(simtDeviceProp* properties, int device) {
  return call(keeps_on, [&] {
    if (device < 0 || device >= state().device_count) return simtErrorInvalidDevice;
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "emulated GPU");
    properties->totalGlobalMem = capacity;
    properties->sharedMemPerBlock = most_shared;
    properties->multiProcessorCount = 4;
    properties->major = 9;
    return simtSuccess;
  });
}
simtError_t simtDeviceSynchronize() {
  return call(unsafe | waits, [] {
    synchronise_device(thread_device);
    return state().devices[thread_device].error;
  });
}
simtError_t simtMemGetInfo(size_t* free, size_t* total) {
  return call(plain, [&] {
    *total = capacity;
    *free = capacity - state().devices[thread_device].used;
    return simtSuccess;
  });
}
