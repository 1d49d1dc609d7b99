// Walking the rows of an operator plan, and elements of any type as short arrays of f32.
#pragma once

#include "backends/cpu/operators/lanes.h"
#include "contract/kernels.h"

namespace infini::cpu {

// One row of each operand: where it begins.
struct RowPlaces {
  char* at[max_operands];
};

// Rows [begin, end) of a plan in order: body(places, index of the innermost loop).
template <class Body>
void walk_rows(const OperatorPlan& plan, const OperatorRun& run, int64_t begin, int64_t end,
               const Body& body) {
  RowPlaces places;
  int64_t index[max_rank];
  for (int k = 0; k < plan.operands; ++k)
    places.at[k] = static_cast<char*>(run.operands[k]) + plan.offsets[k];
  for (int64_t i = plan.depth, rest = begin; i-- > 0;) {
    const OperatorLoop& loop = plan.loops[i];
    index[i] = rest % loop.extent;
    rest /= loop.extent;
    for (int k = 0; k < plan.operands; ++k) places.at[k] += index[i] * loop.steps[k];
  }
  for (int64_t row = begin; row < end; ++row) {
    body(places, plan.depth > 0 ? index[plan.depth - 1] : 0);
    for (int i = plan.depth; i-- > 0;) {
      const OperatorLoop& loop = plan.loops[i];
      const bool wraps = ++index[i] == loop.extent;
      const int64_t times = wraps ? 1 - loop.extent : 1;
      for (int k = 0; k < plan.operands; ++k) places.at[k] += times * loop.steps[k];
      if (!wraps) break;
      index[i] = 0;
    }
  }
}

// So many elements are computed at once: a few such arrays stay in the first cache.
constexpr int64_t block_elements = 512;

// Elements of one operand as f32: f32 that lie together are used where they are.
class FloatSource {
 public:
  FloatSource(const LaneKernels& lanes, infiniDtype_t dtype, int64_t step)
      : lanes_(lanes), dtype_(dtype), step_(step) {}
  // `count` <= block_elements, from `p` on; valid until the next call.
  const float* fetch(const char* p, int64_t count);

 private:
  const LaneKernels& lanes_;
  infiniDtype_t dtype_;
  int64_t step_;
  alignas(64) float wide_[block_elements];
  alignas(64) uint16_t narrow_[block_elements];
};

// The same for what is written: room() gives the array for the elements at p, and put() brings them there.
class FloatTarget {
 public:
  FloatTarget(const LaneKernels& lanes, infiniDtype_t dtype, int64_t step)
      : lanes_(lanes), dtype_(dtype), step_(step) {}
  float* room(char* p) {
    return dtype_ == INFINI_DTYPE_F32 && step_ == 4 ? reinterpret_cast<float*>(p) : wide_;
  }
  void put(char* p, int64_t count);

 private:
  const LaneKernels& lanes_;
  infiniDtype_t dtype_;
  int64_t step_;
  alignas(64) float wide_[block_elements];
  alignas(64) uint16_t narrow_[block_elements];
};

// What a function does with its rows; runs on any thread, does not throw.
// `piece`: of elementwise functions, elements [first, first + count) of each row; of others whole rows.
struct RowWork {
  const OperatorPlan& plan;
  const OperatorRun& run;
  const LaneKernels& lanes;
};
void run_map(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count);
void run_cast(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count);
void run_rms_norm(const RowWork& work, const RowPlaces& places);
void run_causal_softmax(const RowWork& work, const RowPlaces& places, int64_t row);
void run_rope(const RowWork& work, const RowPlaces& places);
// One row by one thread; `workspace` has sample_bytes(length).
int64_t sample_bytes(int64_t length);
void run_random_sample(const RowWork& work, const RowPlaces& places, const SampleOptions& options);

// An integer element of any dtype, as far as int64_t can say it.
int64_t load_integer(const char* p, infiniDtype_t dtype);
void store_integer(char* p, infiniDtype_t dtype, int64_t value);

}  // namespace infini::cpu
