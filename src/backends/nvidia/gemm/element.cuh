// Elements of C: how they are read, and how sums become what is written, rounded once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace infini::nvidia {

template <class Out, class Sum>
__device__ Sum read_element(const char* place) {
  return static_cast<Sum>(*reinterpret_cast<const Out*>(place));
}

template <class Out, class Sum>
__device__ void write_element(char* place, Sum value) {
  *reinterpret_cast<Out*>(place) = static_cast<Out>(value);  // to nearest
}

// alpha·sum, and beta·c added to it, each rounded in one way: left to itself, the compiler would
// fuse them differently in different kernels, whose bits must be the same.
__device__ inline float scaled(float sum, float alpha) { return __fmul_rn(sum, alpha); }
__device__ inline double scaled(double sum, double alpha) { return __dmul_rn(sum, alpha); }
__device__ inline float plus_scaled(float value, float beta, float c) {
  return __fmaf_rn(beta, c, value);
}
__device__ inline double plus_scaled(double value, double beta, double c) {
  return __fma_rn(beta, c, value);
}

}  // namespace infini::nvidia
