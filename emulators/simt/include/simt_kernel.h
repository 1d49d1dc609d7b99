// The dialect of kernels, as C++ of the host's compiler: a thread is a fiber that runs from barrier
// to barrier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)

struct alignas(8) uint2 {
  uint32_t x, y;
};
struct uint3 {
  uint32_t x, y, z;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
constexpr uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
constexpr uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }

// Of the thread that runs now.
extern "C" {
extern SIMT_EXPORT uint3 threadIdx, blockIdx;
extern SIMT_EXPORT dim3 blockDim, gridDim;
}

// What a kernel takes, and how it is called with it.
struct SimtParameters {
  int count;
  const size_t* bytes;
  void (*call)(const void* kernel, void* const* arguments);
};

extern "C" {
SIMT_EXPORT void simtSyncThreads();
SIMT_EXPORT void* simtSharedMemory();  // the block's dynamic shared memory
// An asynchronous copy of 16 aligned bytes: they are there after simtStageWait() of the same
// thread, and for the others after a barrier behind it.
SIMT_EXPORT void simtStageVector(void* shared, const void* global);
SIMT_EXPORT void simtStageWait();
// *p = max(*p, value), atomically: of any number of threads and streams.
SIMT_EXPORT void simtAtomicMax(uint32_t* p, uint32_t value);
// *p += value, atomically; returns what was there.
SIMT_EXPORT uint32_t simtAtomicAdd(uint32_t* p, uint32_t value);
SIMT_EXPORT uint64_t simtAtomicAddWide(uint64_t* p, uint64_t value);
SIMT_EXPORT void simtWaitForPredecessor();
SIMT_EXPORT void simtRegisterKernel(const void* kernel, const SimtParameters* parameters);
}

inline void __syncthreads() { simtSyncThreads(); }

template <class... Parameters>
struct SimtCall {
  static constexpr size_t bytes[] = {sizeof(Parameters)...};
  template <size_t... i>  // reads what the host has written: no access of the kernel's
  __attribute__((no_sanitize("thread"))) static void unpack(const void* kernel,
                                                            void* const* arguments,
                                                            std::index_sequence<i...>) {
    const auto function = reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel));
    function(*static_cast<Parameters*>(arguments[i])...);
  }
  static void call(const void* kernel, void* const* arguments) {
    unpack(kernel, arguments, std::index_sequence_for<Parameters...>());
  }
  static constexpr SimtParameters parameters{sizeof...(Parameters), bytes, call};
};

// The address by which a kernel can be launched.
template <class... Parameters>
const void* simtKernelAddress(void (*kernel)(Parameters...)) {
  const auto address = reinterpret_cast<const void*>(kernel);
  simtRegisterKernel(address, &SimtCall<Parameters...>::parameters);
  return address;
}
