// A skinny product, prepared: one launch, and one more that adds the parts of k where there are
// several.
#pragma once

#include <algorithm>

#include "backends/gpu/gemm/gemm.h"
#include "backends/gpu/gemm/skinny/kernel.cuh"
#include "backends/gpu/runtime/check.h"
#include "base/checked.h"

namespace infini::gpu {

constexpr int64_t most_blocks = 1 << 20;
inline unsigned grid(int64_t blocks) {
  return static_cast<unsigned>(std::min(blocks, most_blocks));
}

// The kernels and what they are launched with.
struct SkinnyWay {
  const char* name;
  SkinnySchedule schedule;
  int64_t columns, ragged_columns;  // of a block; ragged: lines of B begin between two vectors
  ReadyKernel multiply, add;        // the second one where parts are left in the workspace
  size_t shared_bytes;
  bool leaves_parts;
};

// `plan` has few rows; `swapped`: it is the transposed one of what was asked for.
class SkinnyGemm final : public GpuGemm {
 public:
  SkinnyGemm(const GpuDevice& device, const GemmPlan& plan, bool swapped, const SkinnyWay& way)
      : GpuGemm(device, plan), swapped_(swapped), way_(way) {}
  size_t workspace_bytes() const override {
    return way_.leaves_parts ? static_cast<size_t>(skinny_workspace(plan_, way_.schedule)) : 0;
  }
  const char* candidate() const override { return way_.name; }
  std::string schedule() const override {
    return to_string(way_.schedule) + (swapped_ ? ", transposed" : "");
  }

 protected:
  void multiply(const Call& call) const override {
    const char *a = swapped_ ? call.b : call.a, *b = swapped_ ? call.a : call.b;
    char* const parts = way_.leaves_parts ? call.workspace : nullptr;
    const SkinnyTarget<float> narrow{call.c, parts, call.alpha, call.beta};
    const SkinnyTarget<double> wide{call.c, parts, call.wide_alpha, call.wide_beta};
    const void* to = sums_in_f64() ? static_cast<const void*>(&wide) : &narrow;
    const SkinnyLaunch how = launch_for(b);
    const void* arguments[] = {&plan_, &how, &a, &b, to};
    check(launch(way_.multiply, grid(how.blocks), skinny_threads, arguments, way_.shared_bytes,
                 call.stream),
          "cannot launch gemm candidate ", way_.name);
    if (!way_.leaves_parts) return;
    const void* of_parts[] = {&plan_, &way_.schedule.parts, to};
    check(launch(way_.add, grid(ceil_div(plan_.batch * plan_.m * plan_.n, skinny_threads)),
                 skinny_threads, of_parts, 0, call.stream),
          "cannot add the parts of gemm candidate ", way_.name);
  }

 private:
  SkinnyLaunch launch_for(const char* b) const {
    const int64_t bits = plan_.b.row_step | plan_.b.batch_step |
                         static_cast<int64_t>(reinterpret_cast<uintptr_t>(b));
    const int64_t columns = bits % vector_bytes == 0 ? way_.columns : way_.ragged_columns;
    return make_skinny_launch(plan_, way_.schedule, columns);
  }

  bool swapped_;
  SkinnyWay way_;
};

}  // namespace infini::gpu
