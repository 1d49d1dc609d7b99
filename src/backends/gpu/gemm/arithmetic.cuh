// Elements of products by plain arithmetic: widened when they are read, rounded once when they are written.
#pragma once

#include <cstdint>

#include "base/float_formats.h"
#include "plan/gemm/gemm_plan.h"
#include "vendor.h"

namespace infini::gpu {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

// The type of the sums.
template <class T>
struct Arithmetic {
  using Sum = float;
};
template <>
struct Arithmetic<double> {
  using Sum = double;
};
template <class T>
using SumOf = typename Arithmetic<T>::Sum;

// Four neighbours in shared memory, read at once.
template <class Sum>
struct alignas(16) Quad {
  Sum v[4];
};

__device__ inline float widened(Half x) { return f32_from_half(x.bits); }
__device__ inline float widened(Bfloat x) { return f32_from_bf16(x.bits); }
__device__ inline float widened(float x) { return x; }
__device__ inline double widened(double x) { return x; }

// Two at once, the first in the lower half.
__device__ inline uint32_t rounded_pair(Half, float first, float second) {
  return halves_from_f32(first, second);
}
__device__ inline uint32_t rounded_pair(Bfloat, float first, float second) {
  return bfloats_from_f32(first, second);
}
__device__ inline void round_to(Half& x, float value) {
  x.bits = static_cast<uint16_t>(halves_from_f32(value, 0));
}
__device__ inline void round_to(Bfloat& x, float value) {
  x.bits = static_cast<uint16_t>(bfloats_from_f32(value, 0));
}
__device__ inline void round_to(float& x, float value) { x = value; }
__device__ inline void round_to(double& x, double value) { x = value; }

// C = alpha·sum + beta·C at one place; with beta == 0 what is there is not read.
template <class Out>
__device__ void finish_element(char* place, SumOf<Out> sum, SumOf<Out> alpha, SumOf<Out> beta) {
  auto& element = *reinterpret_cast<Out*>(place);
  SumOf<Out> value = alpha * sum;
  if (beta != 0) value += beta * widened(element);
  round_to(element, value);
}

__device__ inline char* place_in(char* base, const GemmOperand& x, int64_t batch, int64_t row,
                                 int64_t col) {
  return base + batch * x.batch_step + row * x.row_step + col * x.col_step;
}

// The same for a product's sum. C has the operands' type, or f32 where theirs is narrower.
template <class In>
__device__ void finish_product(const GemmPlan& plan, char* place, SumOf<In> sum, SumOf<In> alpha,
                               SumOf<In> beta) {
  if (sizeof(In) == 2 && plan.c.dtype == INFINI_DTYPE_F32)
    finish_element<SumOf<In>>(place, sum, alpha, beta);
  else
    finish_element<In>(place, sum, alpha, beta);
}

}  // namespace infini::gpu
