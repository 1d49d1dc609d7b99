// NVIDIA's instructions for boxes of tensors that a copy engine fetches (sm_90 and later), and for
// the barriers in shared memory that count their bytes.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace infini::nvidia {

// 8 bytes of shared memory, for so many arrivals a round; expect_bytes() is one.
__device__ inline void make_barrier(uint32_t barrier, int arrivals = 1) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
#endif
}

// To the engine; the block's threads need a barrier of their own.
__device__ inline void make_barriers_known() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ inline void expect_bytes(uint32_t barrier, uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
#endif
}

// A description on its way to the engine before it is used; it must have been written by the host.
__device__ inline void fetch_map(const CUtensorMap& map) {
#if __CUDA_ARCH__ >= 900
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

// The box that begins at these elements, to an address in shared memory; what lies outside the
// tensor arrives as zeros. All of the box's bytes are counted by the barrier.
__device__ inline void fetch_box(uint32_t shared, const CUtensorMap& map, int inner, int outer,
                                 int batch, uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared),
      "l"(&map), "r"(inner), "r"(outer), "r"(batch), "r"(barrier)
      : "memory");
#endif
}

// The same box for all blocks of the cluster whose bits are set, at the same address of each; each
// one's barrier at that address counts the bytes.
__device__ inline void fetch_box_for(uint16_t whom, uint32_t shared, const CUtensorMap& map,
                                     int inner, int outer, int batch, uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared),
      "l"(&map), "r"(inner), "r"(outer), "r"(batch), "r"(barrier), "h"(whom)
      : "memory");
#endif
}

// All threads of all blocks of a cluster that have not ended. Both are for whole warps.
__device__ inline void arrive_at_team() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ inline void wait_for_team() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
__device__ inline void meet_team() {
  arrive_at_team();
  wait_for_team();
}

// Four numbers to this address of another block of the cluster.
__device__ inline void send_to_mate(uint32_t shared, int rank, const float (&x)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.v4.f32 [there], {%2, %3, %4, %5};\n}" ::"r"(shared),
      "r"(rank), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3])
      : "memory");
#endif
}

__device__ inline void load_four(float (&x)[4], uint32_t shared) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
               : "r"(shared)
               : "memory");
}

// The barrier at this address of another block of the cluster. Orders nothing but what the matrix
// units and the engine do, which is done when they say so.
__device__ inline void arrive_at_mate(uint32_t barrier, int rank) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
#endif
}

__device__ inline void arrive_at(uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}

// Until a round of the barrier is over: its first, third, … have parity 0, the others 1.
__device__ inline void wait_for_round(uint32_t barrier, uint32_t parity = 0) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#endif
}

// True for one thread of a warp. The engine takes orders from one thread; only from this question
// does the compiler know that there is one, and leaves out a loop over all.
__device__ inline bool elected() {
  uint32_t yes = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(yes));
#endif
  return yes != 0;
}

}  // namespace infini::nvidia
