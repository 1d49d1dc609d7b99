// Elementwise and row operators on the CPU: rows, or pieces of long ones, shared by the threads.
#include <algorithm>
#include <vector>

#include "backends/cpu/backend.h"
#include "backends/cpu/convert/convert.h"
#include "backends/cpu/operators/rows.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/schedule.h"
#include "backends/cpu/runtime/parallel.h"
#include "backends/cpu/runtime/stream.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"

namespace infini::cpu {
namespace {

constexpr int64_t piece_elements = 16 << 10;     // of a row of an elementwise function
constexpr int64_t bytes_per_thread = 128 << 10;  // below this a thread costs more than it saves

class Rows final : public OperatorKernel {
 public:
  explicit Rows(const OperatorPlan& plan)
      : plan_(plan),
        lanes_(lane_table(isa())),
        elementwise_(facts_of(plan.function).elementwise),
        pieces_(elementwise_ ? ceil_div(plan.length, piece_elements) : 1) {
    const Policy policy = current_policy();
    const int64_t elements = saturating_mul(row_count(plan), plan.length);
    far_ = saturating_mul(dtype_bytes(plan.dtypes[0]), elements) >=
           policy.streamed_bytes * std::max(1, policy.threads);
    int64_t bytes = 0;
    for (int i = 0; i < 2; ++i) bytes += dtype_bytes(plan.dtypes[i]);
    bytes = saturating_mul(bytes, elements);
    threads_ = static_cast<int>(std::clamp<int64_t>(bytes / bytes_per_thread, 1, 1024));
  }

  size_t workspace_bytes() const override {
    return plan_.function == Function::random_sample
               ? static_cast<size_t>(sample_bytes(plan_.length))
               : 0;
  }
  const char* candidate() const override { return "row_loop"; }
  std::string schedule() const override {
    return std::to_string(row_count(plan_)) + " rows of " + std::to_string(plan_.length) + ", " +
           isa_name(isa()) + (far_ ? ", past the caches" : "") + ", at most " +
           std::to_string(threads_) + " threads";
  }

  void run(const OperatorRun& run) const override {
    if (run.stream != nullptr) [[unlikely]] {
      if (const auto recording = capture_of(run.stream)) {
        const auto rows = static_cast<size_t>(run.samples == nullptr ? 0 : row_count(plan_));
        recording->add([self = shared_from_this(), this, run,
                        samples = std::vector<SampleOptions>(run.samples, run.samples + rows)] {
          OperatorRun again = run;
          again.samples = samples.data();
          execute(again);
        });
        return;
      }
    }
    execute(run);
  }

 private:
  void execute(const OperatorRun& run) const {
    const RowWork work{plan_, run, lanes_, far_};
    const int64_t rows = row_count(plan_);
    if (plan_.function == Function::random_sample) {  // they share the workspace
      int64_t row = 0;
      walk_rows(plan_, run, 0, rows, [&](const RowPlaces& places, int64_t) {
        run_random_sample(work, places, run.samples[row++]);
      });
      return;
    }
    const int64_t tasks = rows * pieces_;
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(tasks, static_cast<int>(std::min<int64_t>(threads, tasks)),
                 [&](int64_t begin, int64_t end) {
                   elementwise_ ? run_pieces(work, begin, end) : run_rows(work, begin, end);
                   if (far_) streaming_fence();
                 });
  }

  void run_pieces(const RowWork& work, int64_t begin, int64_t end) const {
    const auto body = plan_.function == Function::cast ? run_cast : run_map;
    int64_t task = begin;
    walk_rows(plan_, work.run, begin / pieces_, ceil_div(end, pieces_),
              [&](const RowPlaces& places, int64_t) {
                const int64_t row = task / pieces_, last = std::min(end, (row + 1) * pieces_);
                const int64_t first = task % pieces_ * piece_elements,
                              stop =
                                  std::min(plan_.length, (last - row * pieces_) * piece_elements);
                body(work, places, first, stop - first);
                task = last;
              });
  }

  void run_rows(const RowWork& work, int64_t begin, int64_t end) const {
    walk_rows(plan_, work.run, begin, end, [&](const RowPlaces& places, int64_t index) {
      switch (plan_.function) {
        case Function::rms_norm: return run_rms_norm(work, places);
        case Function::causal_softmax: return run_causal_softmax(work, places, index);
        default: return run_rope(work, places);
      }
    });
  }

  OperatorPlan plan_;
  const LaneTable& lanes_;
  bool elementwise_;
  int64_t pieces_;  // of each row
  int threads_;
  bool far_;  // no cache holds what is written
};

}  // namespace

std::unique_ptr<OperatorKernel> make_operator(infini::Device& device, const OperatorPlan& plan,
                                              const Choice& choice) {
  if (plan.function == Function::convert) return make_convert(device, plan, choice);
  require(plan.function != Function::random_sample || plan.length <= INT32_MAX,
          INFINI_STATUS_NOT_IMPLEMENTED, "random_sample: probs has ", plan.length,
          " logits; at most 2^31 - 1 are sampled from");
  return std::make_unique<Rows>(plan);
}

}  // namespace infini::cpu
