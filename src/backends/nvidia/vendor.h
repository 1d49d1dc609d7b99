// NVIDIA's names for what the shared GPU source needs.
//
// Every CUDA-like vendor has such a header; backends/gpu includes it as "vendor.h" and uses nothing
// of the vendor's but what stands here and the CUDA dialect of the language.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "backends/gpu/model/device_model.h"
#include "base/float_formats.h"

#define VENDOR(name) cuda##name

namespace infini::gpu {

// Memory that was freed in the order of a stream stays with the process up to so many bytes: to get it from the system anew
// after every wait takes as long as to fill some of it.
inline void keep_pooled_memory(int id, uint64_t bytes) {
  cudaMemPool_t pool = nullptr;
  uint64_t kept = 0;
  if (cudaDeviceGetDefaultMemPool(&pool, id) != cudaSuccess ||
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept) != cudaSuccess ||
      (kept < bytes &&
       cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes) != cudaSuccess))
    cudaGetLastError();  // a chip without pools
}

// What the device's properties say of what not every vendor or chip can do.
inline bool reads_host_memory(const cudaDeviceProp& p) { return p.pageableMemoryAccess != 0; }
inline bool can_launch_early(const cudaDeviceProp& p) { return p.major >= 9; }

// The model of a device; what it does not say stays assumed. The costs were fitted on sm_90.
inline void ask_model(int id, DeviceModel& model) {
  int clock_khz = 0, memory_khz = 0, bus_bits = 0, l2 = 0, shared = 0, major = 0, minor = 0;
  const auto ask = [&](int& value, cudaDeviceAttr attribute) {
    return cudaDeviceGetAttribute(&value, attribute, id) == cudaSuccess && value > 0;
  };
  model.asked = ask(clock_khz, cudaDevAttrClockRate) &&
                ask(memory_khz, cudaDevAttrMemoryClockRate) &&
                ask(bus_bits, cudaDevAttrGlobalMemoryBusWidth) && ask(l2, cudaDevAttrL2CacheSize) &&
                ask(shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  if (!model.asked) return;
  model.clock_ghz = clock_khz * 1e-6;
  model.memory_bytes_per_ns = 2.0 * memory_khz * 1e-6 * bus_bits / 8;  // two bits a clock on a line
  model.l2_bytes = l2;
  model.shared_bytes = shared;
  model.fitted = ask(major, cudaDevAttrComputeCapabilityMajor) && major == 9;
  model.link_bytes_per_ns = major >= 9 ? 50 : major >= 8 ? 24 : 12;  // by the bus of their time
  ask(minor, cudaDevAttrComputeCapabilityMinor);
  // What a processor multiplies and adds in a cycle, by its generation: 16-bit elements on its matrix units, f32.
  const double matrix = major >= 9 ? 2048 : major == 8 && minor == 0 ? 1024 : 512;
  const double lanes = major == 7 || (major == 8 && minor == 0) ? 64 : 128;
  const double cycles = 2 * model.processors * model.clock_ghz;
  model.matrix_flops_per_ns = matrix * cycles, model.vector_flops_per_ns = lanes * cycles;
}

}  // namespace infini::gpu

#include "backends/gpu/runtime/runtime_names.h"
#include "backends/nvidia/conversions.h"

namespace infini::gpu {

inline constexpr const char* vendor_name = "nvidia";
inline constexpr const char* vendor_title = "CUDA";
inline constexpr infiniDevice_t vendor_kind = INFINI_DEVICE_NVIDIA;

// What a block may use without asking, and how much it moves at a time.
inline constexpr int shared_bytes_per_block = 48 * 1024;
inline constexpr int tile_bytes = 24 * 1024, least_tile_bytes = 4 * 1024;
inline constexpr int least_plane_bytes = 8 * 1024;
inline constexpr int warp_threads = 32;

// Threads that a processor can hold, of the architecture that is being compiled for.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
inline constexpr int threads_per_processor = 1024;
#elif defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ >= 1200 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900))
inline constexpr int threads_per_processor = 1536;
#else
inline constexpr int threads_per_processor = 2048;
#endif

// Makes a device current, with its context: the driver's own entries need that.
Status set_device(int id);

// A kernel that is ready to be launched, early or not: all that can be known beforehand.
struct ReadyKernel {
  CUfunction function;
  bool early;  // may begin while the work before it ends; waits by itself before it touches memory
  bool all_shared_memory = false;  // wants as much as there is, for itself and its successor
  unsigned cluster = 1;            // so many neighbouring blocks run side by side
};

// For the current device. Throws when it has no such kernel.
ReadyKernel make_ready(const void* kernel, bool early);

// Through the driver's entry, which costs the host 0.2 µs less than the runtime's.
Status launch(const ReadyKernel& kernel, unsigned blocks, unsigned threads, const void** arguments,
              size_t shared_bytes, Stream stream);

// Kernels that follow one another closely should divide a processor's memory into cache and shared
// memory in the same way: between different ways it must first run empty.
inline Status divide_memory_evenly(const void* kernel) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50);
}

#ifdef __CUDACC__
// The block's dynamic shared memory, at a multiple of 16 bytes.
__device__ inline unsigned char* shared_memory() {
  extern __shared__ uint4 shared[];
  return reinterpret_cast<unsigned char*>(shared);
}

// Copies 16 aligned bytes from global to shared memory; they are there after stage_wait() and a
// barrier. Since sm_80 without a detour through registers. Whole lines are fetched, which makes
// less traffic between the halves of an H200's L2 than sectors do; unless only few sectors of them
// are wanted.
__device__ inline void stage_vector(void* shared, const void* global, bool whole_lines = true) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  if (whole_lines)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address), "l"(global)
                 : "memory");
  else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global)
                 : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
#endif
}

// Once every block has said this (or ended), a successor that was launched early may begin.
__device__ inline void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Waits until all work before this kernel is done and its writes can be seen. What `known` depends
// on is computed before: left to itself, the compiler begins with the wait and computes afterwards.
// The condition is always true (blocks have more than one thread), but the compiler cannot know.
__device__ inline void wait_when_known(uint32_t known) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .pred p;\nsetp.lt.u32 p, %0, %1;\n@p griddepcontrol.wait;\n}" ::"r"(known & 1),
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

// By one instruction; exact, as all that widens.
__device__ inline float f32_from_half(uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// Two numbers as f16 or bf16, rounded to nearest even, `low` in the lower half. By one instruction since sm_80, which makes
// every NaN the same one.
__device__ inline uint32_t halves_from_f32(float low, float high) {
#if __CUDA_ARCH__ >= 800
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  uint16_t first, second;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(first) : "f"(low));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(second) : "f"(high));
  return first | uint32_t{second} << 16;
#endif
}
__device__ inline uint32_t bfloats_from_f32(float low, float high) {
#if __CUDA_ARCH__ >= 800
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return bf16_from_f32(low) | uint32_t{bf16_from_f32(high)} << 16;
#endif
}

// 2^x, off by at most 2^-22 of itself, and 1 / x, by 2^-23; what would be denormal is 0.
__device__ inline float near_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float near_inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// NaN where one of them is.
__device__ inline float larger_or_nan(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
#else
  return a != a || a > b ? a : b;
#endif
}

// So many neighbouring threads read one another's values without shared memory: from_lane() gives that of the thread whose
// number differs by the bit. All of them call it.
inline constexpr unsigned joining_lanes = 32;
template <class T>
__device__ T from_lane(T value, unsigned bit) {
  return __shfl_xor_sync(~0u, value, static_cast<int>(bit));
}

// Byte i of the result is the byte of high:low that hexadecimal digit i of `selector` names.
__device__ inline uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
  return __byte_perm(low, high, selector);
}

// Makes *p at least `value`, whoever else does.
__device__ inline void raise_to(uint32_t* p, uint32_t value) { atomicMax(p, value); }
// Adds to *p, whoever else does; returns what was there.
__device__ inline uint32_t add_to(uint32_t* p, uint32_t value) { return atomicAdd(p, value); }
__device__ inline uint64_t add_to(uint64_t* p, uint64_t value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(p), value);
}

__device__ inline void stage_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
#endif

}  // namespace infini::gpu
