// NVIDIA's instructions by which four warps multiply operands in shared memory (sm_90a alone).
//
// They run in the background: the sums and the operands may be touched again only after a wait.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace infini::nvidia {

// Before the first multiplication after the sums were touched.
__device__ inline void open_multiplications() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// What was multiplied since the last call is one group.
__device__ inline void close_multiplications() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// All but the last `groups` groups are done.
template <int groups>
__device__ void wait_for_multiplications() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}

// x(64 × columns) += a(64×16) · b(16 × columns); a and b are descriptors, turned means k outside.
// Thread 4r + q of warp w has of rows 16w + r and 16w + r + 8 columns 2q and the next of every
// eight: x[4j + 2h + e] is row 16w + r + 8h, column 8j + 2q + e.
template <class T, bool a_turned, bool b_turned>
__device__ void multiply_add(float (&x)[4], uint64_t a, uint64_t b) {
  if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, "
        "%4, %5, yes, 1, 1, %6, %7;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
  else
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, "
        "%4, %5, yes, 1, 1, %6, %7;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
}

template <class T, bool a_turned, bool b_turned>
__device__ void multiply_add(float (&x)[8], uint64_t a, uint64_t b) {
  if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "%8, %9, yes, 1, 1, %10, %11;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
          "+f"(x[7])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
  else
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "%8, %9, yes, 1, 1, %10, %11;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
          "+f"(x[7])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
}

template <class T, bool a_turned, bool b_turned>
__device__ void multiply_add(float (&x)[32], uint64_t a, uint64_t b) {
  if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, yes, 1, 1, %34, %35;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
          "+f"(x[7]), "+f"(x[8]), "+f"(x[9]), "+f"(x[10]), "+f"(x[11]), "+f"(x[12]), "+f"(x[13]),
          "+f"(x[14]), "+f"(x[15]), "+f"(x[16]), "+f"(x[17]), "+f"(x[18]), "+f"(x[19]), "+f"(x[20]),
          "+f"(x[21]), "+f"(x[22]), "+f"(x[23]), "+f"(x[24]), "+f"(x[25]), "+f"(x[26]), "+f"(x[27]),
          "+f"(x[28]), "+f"(x[29]), "+f"(x[30]), "+f"(x[31])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
  else
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, yes, 1, 1, %34, %35;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
          "+f"(x[7]), "+f"(x[8]), "+f"(x[9]), "+f"(x[10]), "+f"(x[11]), "+f"(x[12]), "+f"(x[13]),
          "+f"(x[14]), "+f"(x[15]), "+f"(x[16]), "+f"(x[17]), "+f"(x[18]), "+f"(x[19]), "+f"(x[20]),
          "+f"(x[21]), "+f"(x[22]), "+f"(x[23]), "+f"(x[24]), "+f"(x[25]), "+f"(x[26]), "+f"(x[27]),
          "+f"(x[28]), "+f"(x[29]), "+f"(x[30]), "+f"(x[31])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
}

template <class T, bool a_turned, bool b_turned>
__device__ void multiply_add(float (&x)[64], uint64_t a, uint64_t b) {
  if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, yes, 1, 1, %66, %67;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
          "+f"(x[7]), "+f"(x[8]), "+f"(x[9]), "+f"(x[10]), "+f"(x[11]), "+f"(x[12]), "+f"(x[13]),
          "+f"(x[14]), "+f"(x[15]), "+f"(x[16]), "+f"(x[17]), "+f"(x[18]), "+f"(x[19]), "+f"(x[20]),
          "+f"(x[21]), "+f"(x[22]), "+f"(x[23]), "+f"(x[24]), "+f"(x[25]), "+f"(x[26]), "+f"(x[27]),
          "+f"(x[28]), "+f"(x[29]), "+f"(x[30]), "+f"(x[31]), "+f"(x[32]), "+f"(x[33]), "+f"(x[34]),
          "+f"(x[35]), "+f"(x[36]), "+f"(x[37]), "+f"(x[38]), "+f"(x[39]), "+f"(x[40]), "+f"(x[41]),
          "+f"(x[42]), "+f"(x[43]), "+f"(x[44]), "+f"(x[45]), "+f"(x[46]), "+f"(x[47]), "+f"(x[48]),
          "+f"(x[49]), "+f"(x[50]), "+f"(x[51]), "+f"(x[52]), "+f"(x[53]), "+f"(x[54]), "+f"(x[55]),
          "+f"(x[56]), "+f"(x[57]), "+f"(x[58]), "+f"(x[59]), "+f"(x[60]), "+f"(x[61]), "+f"(x[62]),
          "+f"(x[63])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
  else
    asm volatile(
        "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, yes, 1, 1, %66, %67;\n}"
        : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
          "+f"(x[7]), "+f"(x[8]), "+f"(x[9]), "+f"(x[10]), "+f"(x[11]), "+f"(x[12]), "+f"(x[13]),
          "+f"(x[14]), "+f"(x[15]), "+f"(x[16]), "+f"(x[17]), "+f"(x[18]), "+f"(x[19]), "+f"(x[20]),
          "+f"(x[21]), "+f"(x[22]), "+f"(x[23]), "+f"(x[24]), "+f"(x[25]), "+f"(x[26]), "+f"(x[27]),
          "+f"(x[28]), "+f"(x[29]), "+f"(x[30]), "+f"(x[31]), "+f"(x[32]), "+f"(x[33]), "+f"(x[34]),
          "+f"(x[35]), "+f"(x[36]), "+f"(x[37]), "+f"(x[38]), "+f"(x[39]), "+f"(x[40]), "+f"(x[41]),
          "+f"(x[42]), "+f"(x[43]), "+f"(x[44]), "+f"(x[45]), "+f"(x[46]), "+f"(x[47]), "+f"(x[48]),
          "+f"(x[49]), "+f"(x[50]), "+f"(x[51]), "+f"(x[52]), "+f"(x[53]), "+f"(x[54]), "+f"(x[55]),
          "+f"(x[56]), "+f"(x[57]), "+f"(x[58]), "+f"(x[59]), "+f"(x[60]), "+f"(x[61]), "+f"(x[62]),
          "+f"(x[63])
        : "l"(a), "l"(b), "n"(a_turned), "n"(b_turned));
}

}  // namespace infini::nvidia
