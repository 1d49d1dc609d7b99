// Random samples, prepared: which kernels run, and in what order.
#pragma once

#include <algorithm>

#include "backends/gpu/operators/kernel_table.cuh"
#include "backends/gpu/operators/sample.cuh"
#include "backends/gpu/operators/sample_one_block.cuh"
#include "backends/gpu/operators/split.h"
#include "backends/gpu/runtime/check.h"
#include "backends/gpu/runtime/device.h"

namespace infini::gpu {
namespace {

class GpuSampler final : public OperatorKernel {
 public:
  GpuSampler(const GpuDevice& device, const OperatorPlan& plan, Split split)
      : device_(device),
        split_(std::move(split)),
        in_parts_(split_.nest.length <= most_logits),
        schedule_(in_parts_ ? make_sample_schedule(split_.nest.rows, split_.nest.length)
                            : SampleSchedule{}) {
    std::copy_n(plan.offsets, 2, offsets_);
    const bool early = device.facts().early_launch;
    with_float(plan.dtypes[1], [&](auto x) {
      using T = decltype(x);
      whole_ = make_ready(kernel_address(sample_long_row<T>), early);
      largest_ = make_ready(kernel_address(find_largest<T>), early);
      bins_ = make_ready(kernel_address(fill_bins<T>), early);
      gather_ = make_ready(kernel_address(gather_bin<T>), early);
      decide_ = make_ready(kernel_address(decide), early);
    });
  }
  size_t workspace_bytes() const override { return schedule_.bytes * schedule_.rows; }
  const char* candidate() const override { return in_parts_ ? "bins" : "row_loop"; }
  std::string schedule() const override {
    return std::to_string(split_.nest.rows) + " rows of " + std::to_string(split_.nest.length) +
           (in_parts_ ? ", in " + std::to_string(schedule_.parts) + " parts" : "");
  }

  void run(const OperatorRun& run) const override {
    const Stream stream = device_.live(run.stream);
    RowPointers base{};
    for (int i = 0; i < 2; ++i) {
      require_reachable(device_, run.operands[i], "an operand");
      base.at[i] = static_cast<char*>(run.operands[i]) + offsets_[i];
    }
    if (in_parts_) require_reachable(device_, run.workspace, "the workspace");
    const SampleOptions* samples = run.samples;
    walk(0, base, samples, static_cast<char*>(run.workspace), stream);
  }

 private:
  void walk(size_t level, RowPointers at, const SampleOptions*& samples, char* workspace,
            Stream stream) const {
    if (level == split_.outer.size()) {
      for (uint32_t first = 0; first < split_.nest.rows; first += most_sample_rows)
        launch_rows(first, at, samples, workspace, stream);
      return;
    }
    const OperatorLoop& loop = split_.outer[level];
    for (int64_t i = 0; i < loop.extent; ++i) {
      walk(level + 1, at, samples, workspace, stream);
      for (int k = 0; k < 2; ++k) at.at[k] += loop.steps[k];
    }
  }

  // Up to most_sample_rows rows; what all of them can do without is not launched.
  void launch_rows(uint32_t first, const RowPointers& base, const SampleOptions*& samples,
                   char* workspace, Stream stream) const {
    const RowNest& nest = split_.nest;
    const uint32_t rows = std::min(nest.rows - first, most_sample_rows);
    SampleRows all{};
    all.first = first;
    std::copy_n(samples, rows, all.options);
    samples += rows;
    if (!in_parts_) return launch_whole(all, rows, base, stream);
    const auto draws = [](const SampleOptions& o) { return !is_greedy(o); };
    const auto limited = [&](const SampleOptions& o) {
      return draws(o) && o.topk > 0 && static_cast<uint32_t>(o.topk) < nest.length;
    };
    const bool draw = std::any_of(all.options, all.options + rows, draws);
    const bool limit = std::any_of(all.options, all.options + rows, limited);
    for (int round = 0; round < 2; ++round) {
      const void* arguments[] = {&nest, &base, &all, &schedule_, &workspace, &round};
      const uint32_t blocks = rows * schedule_.parts;
      if (round == 0) start(largest_, blocks, arguments, stream);
      if (round == 0 && draw) start(bins_, blocks, arguments, stream);
      if (round == 0 && !limit) continue;
      if (draw) start(gather_, blocks, arguments, stream);
      start(decide_, rows, arguments, stream);
    }
  }
  void launch_whole(const SampleRows& all, uint32_t rows, const RowPointers& base,
                    Stream stream) const {
    for (uint32_t i = 0; i < rows; ++i) {
      const uint32_t row = all.first + i;
      const void* arguments[] = {&split_.nest, &base, &row, &all.options[i]};
      start(whole_, 1, arguments, stream);
    }
  }
  void start(const ReadyKernel& kernel, uint32_t blocks, const void** arguments,
             Stream stream) const {
    check(launch(kernel, blocks, operator_threads, arguments, Bins::bytes, stream),
          "cannot launch random_sample");
  }

  const GpuDevice& device_;
  Split split_;
  bool in_parts_;
  SampleSchedule schedule_;
  ReadyKernel whole_, largest_, bins_, gather_, decide_;
  int64_t offsets_[2];
};

}  // namespace
}  // namespace infini::gpu
