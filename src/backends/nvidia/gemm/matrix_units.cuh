// NVIDIA's instructions for fetching ahead and for products of 16-bit matrices (sm_80 and later).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace infini::nvidia {

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Copies `unit` bytes (4, 8 or 16, lying at multiples of that) from global to shared memory in the
// background, or puts zeros there.
template <int unit>
__device__ void fetch(uint32_t shared, const char* global, bool inside) {
#if __CUDA_ARCH__ >= 800
  if constexpr (unit == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(inside ? 16 : 0)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(global),
                 "r"(inside ? unit : 0), "n"(unit)
                 : "memory");
#endif
}

__device__ inline void store_shared(uint32_t shared, uint16_t value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(shared), "h"(value) : "memory");
}

// What was fetched since the last call is one group.
__device__ inline void close_fetch_group() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// All but the last `groups` groups of this thread have arrived.
template <int groups>
__device__ void wait_for_fetches() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
#endif
}

// Four 8×8 matrices of 16-bit elements; lane l names row l % 8 of matrix l / 8. Lane l receives of
// each matrix elements 2(l % 4) and the next of row l / 4, or of column l / 4 when turned.
__device__ inline void load_matrices(uint32_t (&x)[4], uint32_t address, bool turned) {
#if __CUDA_ARCH__ >= 800
  if (turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
#endif
}

// sum(16×8) += a(16×16) · b(16×8), f32 sums.
__device__ inline void multiply_add(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1, __half) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

__device__ inline void multiply_add(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1, __nv_bfloat16) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

}  // namespace infini::nvidia
