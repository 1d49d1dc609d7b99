// Conversions of short contiguous arrays between any format and f32 or f64, one table for each instruction set.
// Arrays may begin at any address and do not overlap, unless they are the same.
#pragma once

#include <cstdint>

#include "backends/cpu/machine/isa.h"
#include "plan/operators/convert_plan.h"

namespace infini::cpu {

// Where arrays lie. far: in memory that no cache holds; what is read is asked for ahead. past: what is written goes past the
// caches, wherever whole vectors of it are aligned; the caller fences (streaming_fence).
struct Flow {
  bool far = false, past = false;
};

struct ConvertLanes {
  using Widen = void (*)(float* out, const void* in, int64_t count, Flow flow);
  using Narrow = void (*)(void* out, const float* in, bool saturates, int64_t count, Flow flow);
  using WidenWide = void (*)(double* out, const void* in, int64_t count, Flow flow);
  using NarrowWide = void (*)(void* out, const double* in, bool saturates, int64_t count,
                              Flow flow);

  // By Format; the first two only of formats whose numbers are all f32 (else null). Widening is exact; narrowing rounds once, to
  // nearest even. Integers are saturated and NaN becomes 0.
  Widen widen[format_count];
  Narrow narrow[format_count];
  WidenWide widen_wide[format_count];
  NarrowWide narrow_wide[format_count];
  // out = x·a + b, rounded once; out may be x. Steps of a and b: 0 or 1.
  void (*scale)(float* out, const float* x, const float* a, int a_step, const float* b, int b_step,
                int64_t count, Flow flow);
  void (*scale_wide)(double* out, const double* x, const double* a, int a_step, const double* b,
                     int b_step, int64_t count, Flow flow);
};

const ConvertLanes& convert_lanes(Isa isa);
const ConvertLanes& convert_lanes_avx512();
const ConvertLanes& convert_lanes_avx2();

}  // namespace infini::cpu
