// Arithmetic on short contiguous arrays of f32, f16 or bf16, one table for each instruction set: what all elementwise and
// row operators are made of. Arrays may begin at any address; out may be one of the sources.
//
// Everything is computed in f32 and rounded once, to nearest even; NaN stays NaN. `far`: the arrays are parts of tensors that no cache
// holds. What is read is then asked for ahead, and what is written goes past the caches; the caller fences (streaming_fence).
#pragma once

#include <cstdint>

#include "backends/cpu/machine/isa.h"
#include "base/dtype.h"
#include "plan/operators/functions.h"

namespace infini::cpu {

enum class Lane { f32, f16, bf16 };
constexpr int lane_count = 3;
// lane_count where elements are of another kind.
constexpr int lane_of(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F32: return static_cast<int>(Lane::f32);
    case INFINI_DTYPE_F16: return static_cast<int>(Lane::f16);
    case INFINI_DTYPE_BF16: return static_cast<int>(Lane::bf16);
    default: return lane_count;
  }
}

// What is done with arrays of one kind.
struct LaneKernels {
  using Map = void (*)(void* out, const void* a, const void* b, int64_t count, bool far);
  using Cast = void (*)(void* out, const void* in, int64_t count, bool far);

  Map maps[elementwise_count];  // by function; those of one source do not look at b; none for cast
  Cast casts[lane_count];       // to each kind
  float (*sum_squares)(const void* x, int64_t count, bool far);
  // out = x·factor·w, by w's kind. Bytes from `next` on are asked for meanwhile, as many as x has; null: none.
  void (*scaled[lane_count])(void* out, const void* x, const void* w, float factor, int64_t count,
                             bool far, const void* next);
  // The largest, NaN aside.
  float (*largest)(const void* x, int64_t count, bool far);
  // The sum of exp(x - shift), for x <= shift. `next` as above.
  float (*sum_exponentials)(const void* x, float shift, int64_t count, const void* next);
  // out = exp(x - shift)·factor
  void (*exponentials)(void* out, const void* x, float shift, float factor, int64_t count,
                       bool far);
  void (*zeros)(void* out, int64_t count, bool far);
  // (p, q) = (a·cos - b·sin, a·sin + b·cos)
  void (*rotate)(void* p, void* q, const void* a, const void* b, const void* sin, const void* cos,
                 int64_t count, bool far);
  // The same for `count` pairs whose elements lie side by side.
  void (*rotate_pairs)(void* out, const void* in, const void* sin, const void* cos, int64_t count,
                       bool far);
};
struct LaneTable {
  LaneKernels of[lane_count];
};

const LaneTable& lane_table(Isa isa);
const LaneTable& lane_table_avx512();
const LaneTable& lane_table_avx2();

}  // namespace infini::cpu
