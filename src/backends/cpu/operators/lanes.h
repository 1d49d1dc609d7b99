// Arithmetic on short contiguous arrays of f32, one table for each instruction set: what all elementwise and row operators
// are made of. Arrays may begin at any address; out may be one of the sources.
#pragma once

#include <cstdint>

#include "backends/cpu/machine/isa.h"
#include "plan/functions.h"

namespace infini::cpu {

struct LaneKernels {
  using Widen = void (*)(float* out, const void* in, int64_t count);
  using Narrow = void (*)(void* out, const float* in, int64_t count);
  using Map = void (*)(float* out, const float* a, const float* b, int64_t count);

  Widen from_f16, from_bf16;    // exact
  Narrow to_f16, to_bf16;       // rounded to nearest even, NaN stays NaN
  Map maps[elementwise_count];  // by function; those of one source do not look at b; none for cast
  float (*sum_squares)(const float* x, int64_t count);
  // out = x·factor·w
  void (*scaled)(float* out, const float* x, const float* w, float factor, int64_t count);
  // The largest; NaN where there is one.
  float (*largest)(const float* x, int64_t count);
  // out = exp(x - shift)·factor, the sum of which is returned. out may be null.
  float (*exponentials)(float* out, const float* x, float shift, float factor, int64_t count);
  // (p, q) = (a·cos - b·sin, a·sin + b·cos)
  void (*rotate)(float* p, float* q, const float* a, const float* b, const float* sin,
                 const float* cos, int64_t count);
};

const LaneKernels& lane_kernels(Isa isa);
const LaneKernels& lane_kernels_avx512();
const LaneKernels& lane_kernels_avx2();

}  // namespace infini::cpu
