// Walking the rows of an operator plan, and elements of any strides as short arrays.
#pragma once

#include "backends/cpu/operators/lanes.h"
#include "base/dtype.h"
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

// Elements of one operand lying together: those that do so already are used where they are.
class Source {
 public:
  Source(infiniDtype_t dtype, int64_t step) : bytes_(dtype_bytes(dtype)), step_(step) {}
  bool lies_together() const { return step_ == bytes_; }
  // `count` elements from `p` on, block_elements at most unless they lie together; valid until the next call.
  const void* fetch(const char* p, int64_t count);

 private:
  int64_t bytes_, step_;
  alignas(64) char buffer_[block_elements * 4];
};

// The same for what is written: room() gives the array for the elements at p, and put() brings them there.
class Target {
 public:
  Target(infiniDtype_t dtype, int64_t step) : bytes_(dtype_bytes(dtype)), step_(step) {}
  bool lies_together() const { return step_ == bytes_; }
  void* room(char* p) { return lies_together() ? p : buffer_; }
  void put(char* p, int64_t count);

 private:
  int64_t bytes_, step_;
  alignas(64) char buffer_[block_elements * 4];
};

// Elements of one operand as f32: f32 that lie together are used where they are.
class FloatSource {
 public:
  FloatSource(const LaneTable& lanes, infiniDtype_t dtype, int64_t step)
      : kernels_(lanes.of[lane_of(dtype)]),
        is_f32_(dtype == INFINI_DTYPE_F32),
        source_(dtype, step) {}
  // `count` <= block_elements, from `p` on; valid until the next call.
  const float* fetch(const char* p, int64_t count) {
    const void* const elements = source_.fetch(p, count);
    if (is_f32_) return static_cast<const float*>(elements);
    kernels_.casts[static_cast<int>(Lane::f32)](wide_, elements, count, false);
    return wide_;
  }

 private:
  const LaneKernels& kernels_;
  bool is_f32_;
  Source source_;
  alignas(64) float wide_[block_elements];
};

// What a function does with its rows; runs on any thread, does not throw.
// `piece`: of elementwise functions, elements [first, first + count) of each row; of others whole rows.
struct RowWork {
  const OperatorPlan& plan;
  const OperatorRun& run;
  const LaneTable& lanes;
  bool far;  // no cache holds what is written
  const LaneKernels& kernels(int operand) const { return lanes.of[lane_of(plan.dtypes[operand])]; }
  // Where element i of the next row is read, to be asked for while this one is computed; null where the caches hold it, and
  // where elements lie apart. Behind the last row of a loop that is a guess.
  const void* next(const RowPlaces& places, int64_t i) const {
    if (!far || plan.depth == 0 || plan.row_steps[1] != dtype_bytes(plan.dtypes[1])) return nullptr;
    return places.at[1] + plan.loops[plan.depth - 1].steps[1] + i * plan.row_steps[1];
  }
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
