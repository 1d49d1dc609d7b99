// What the shared device source needs of a vendor, in plain C++: for vendors of which we know no
// better instruction. No warp intrinsics, no asynchronous copies. Where the device is emulated
// (emulators/simt) it has both early launches and asynchronous copies, so that every promise that
// the kernels make is checked.
#pragma once

#include <cmath>
#include <cstdint>

#include "backends/gpu/model/device_model.h"
#include "base/float_formats.h"

namespace infini::gpu {

inline void keep_pooled_memory(int, uint64_t) {}

// Nothing is taken for granted.
template <class Properties>
bool reads_host_memory(const Properties&) {
  return false;
}
template <class Properties>
bool can_launch_early(const Properties&) {
#ifdef SIMT_EMULATOR
  return true;
#else
  return false;
#endif
}

// Which of their attributes say how fast memory is we do not know: the model stays the assumed one.
inline void ask_model(int, DeviceModel&) {}

}  // namespace infini::gpu

#include "backends/gpu/runtime/plain_conversions.h"
#include "backends/gpu/runtime/runtime_names.h"

namespace infini::gpu {

// What a block may use without asking on every chip of these vendors, and how much it moves at a
// time.
inline constexpr int shared_bytes_per_block = 32 * 1024;
inline constexpr int tile_bytes = 16 * 1024, least_tile_bytes = 4 * 1024;
inline constexpr int least_plane_bytes = 8 * 1024;
// How many threads a processor can hold is not known: launch bounds ask for one block.
inline constexpr int threads_per_processor = 256;

// Asking is cheaper than telling.
inline Status set_device(int id) {
  int current = -1;
  return VENDOR(GetDevice)(&current) == success && current == id ? success : VENDOR(SetDevice)(id);
}

// A kernel that is ready to be launched, early or not: all that can be known beforehand.
struct ReadyKernel {
  const void* address;
  bool early;  // may begin while the work before it ends; waits by itself before it touches memory
};

inline ReadyKernel make_ready(const void* kernel, bool early) { return {kernel, early}; }

inline Status launch(const ReadyKernel& kernel, unsigned blocks, unsigned threads,
                     const void** arguments, size_t shared_bytes, Stream stream) {
#ifdef SIMT_EMULATOR
  if (kernel.early)
    return simtLaunchKernelEarly(kernel.address, dim3(blocks), dim3(threads),
                                 const_cast<void**>(arguments), shared_bytes, stream);
#endif
  return launch(kernel.address, blocks, threads, arguments, shared_bytes, stream);
}

inline Status divide_memory_evenly(const void*) { return success; }

#ifdef INFINI_DEVICE_CODE  // set for what the vendor's device compiler compiles
#ifndef __grid_constant__
#define __grid_constant__
#endif

#ifdef SIMT_EMULATOR
inline unsigned char* shared_memory() { return static_cast<unsigned char*>(simtSharedMemory()); }
inline void stage_vector(void* shared, const void* global, bool = true) {
  simtStageVector(shared, global);
}
inline void stage_wait() { simtStageWait(); }
inline void raise_to(uint32_t* p, uint32_t value) { simtAtomicMax(p, value); }
inline uint32_t add_to(uint32_t* p, uint32_t value) { return simtAtomicAdd(p, value); }
inline uint64_t add_to(uint64_t* p, uint64_t value) { return simtAtomicAddWide(p, value); }
inline void let_successor_start() {}
inline void wait_when_known(uint32_t) { simtWaitForPredecessor(); }
inline void wait_for_predecessor() { simtWaitForPredecessor(); }
#else
__device__ inline unsigned char* shared_memory() {
  extern __shared__ uint4 shared[];
  return reinterpret_cast<unsigned char*>(shared);
}
__device__ inline void stage_vector(void* shared, const void* global, bool = true) {
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
}
__device__ inline void stage_wait() {}
// Makes *p at least `value`, whoever else does.
__device__ inline void raise_to(uint32_t* p, uint32_t value) { atomicMax(p, value); }
// Adds to *p, whoever else does; returns what was there.
__device__ inline uint32_t add_to(uint32_t* p, uint32_t value) { return atomicAdd(p, value); }
__device__ inline uint64_t add_to(uint64_t* p, uint64_t value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(p), value);
}
// Kernels begin when the one before them has ended.
__device__ inline void let_successor_start() {}
__device__ inline void wait_when_known(uint32_t) {}
__device__ inline void wait_for_predecessor() {}
#endif

__device__ inline float f32_from_half(uint16_t bits) { return f32_from_f16(bits); }

// Two numbers, rounded to nearest even, `low` in the lower half.
__device__ inline uint32_t halves_from_f32(float low, float high) {
  return f16_from_f32(low) | uint32_t{f16_from_f32(high)} << 16;
}
__device__ inline uint32_t bfloats_from_f32(float low, float high) {
  return bf16_from_f32(low) | uint32_t{bf16_from_f32(high)} << 16;
}

// 2^x and 1 / x, off by at most 2^-22 of themselves; what would be denormal may be 0.
__device__ inline float near_exp2(float x) { return exp2f(x); }
__device__ inline float near_inverse(float x) { return 1 / x; }

// NaN where one of them is.
__device__ inline float larger_or_nan(float a, float b) { return a != a || a > b ? a : b; }

// So many neighbouring threads read one another's values without shared memory: of these vendors we know of none.
inline constexpr unsigned joining_lanes = 1;
template <class T>
__device__ T from_lane(T value, unsigned) {
  return value;
}

__device__ inline uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<uint32_t>(both >> (8 * (selector >> 4 * i & 7)) & 0xff) << 8 * i;
  return result;
}
#endif

}  // namespace infini::gpu
