// Elementwise and row operators on the XPU: pack what cannot be walked as it lies, one launch, unpack.
#include <bit>
#include <utility>

#include "backends/kunlun/backend.h"
#include "backends/kunlun/operators/kernels.h"
#include "backends/kunlun/operators/schedule.h"
#include "backends/kunlun/runtime/device_memory.h"
#include "backends/kunlun/runtime/runtime_error.h"
#include "base/dtype.h"
#include "contract/greedy.h"
#include "plan/operators/convert_plan.h"

namespace infini::kunlun {
namespace {

ConvertNumbers convert_numbers(const OperatorPlan& plan) {
  const Conversion& c = plan.conversion;
  ConvertNumbers numbers{};
  for (int k = 0; k < 2; ++k) {
    numbers.formats[k] = static_cast<int32_t>(format_in(plan, k));
    numbers.along[k] = c.along[k];
  }
  numbers.wide = is_wide(format_in(plan, 0)) || is_wide(format_in(plan, 1));
  numbers.computes = computes(c);
  numbers.saturates = c.saturates;
  numbers.scale = std::bit_cast<int64_t>(c.scale);
  numbers.shift = std::bit_cast<int64_t>(c.shift);
  return numbers;
}

class RowOperator final : public OperatorKernel {
 public:
  RowOperator(Device& device, const OperatorPlan& plan)
      : plan_(plan), schedule_(make_row_schedule(plan, device.clusters())) {
    for (int k = 0; k < plan.operands; ++k)
      if (const PackedOperand& operand = schedule_.packed.operands[k]; operand.packed)
        copies_[k] = make_rearrange(device, operand.copy);
    if (plan.function == Function::convert) numbers_ = convert_numbers(plan);
  }
  size_t workspace_bytes() const override { return static_cast<size_t>(schedule_.packed.bytes); }
  const char* candidate() const override {
    return workspace_bytes() > 0 ? "packed_chunks" : "chunks";
  }
  std::string schedule() const override { return to_string(schedule_); }

  void run(const OperatorRun& run) const override {
    const FunctionFacts& facts = facts_of(plan_.function);
    char* const base = static_cast<char*>(run.workspace);
    if (workspace_bytes() > 0) require_device_memory(base, "workspace");
    char* operands[max_operands] = {};
    for (int k = 0; k < plan_.operands; ++k) {
      operands[k] = static_cast<char*>(run.operands[k]);
      if (is_absent(plan_, k)) operands[k] = nullptr;
      if (operands[k] == nullptr) continue;
      require_device_memory(operands[k], facts.names[k]);
      if (!copies_[k]) continue;
      operands[k] = base + schedule_.packed.operands[k].at;
      if (k > 0) copies_[k]->run(operands[k], run.operands[k], run.stream);
    }
    const Launch launch{schedule_.clusters, schedule_.cores, run.stream};
    check(start(launch, operands, run), facts.name);
    if (copies_[0]) copies_[0]->run(run.operands[0], operands[0], run.stream);
  }

 private:
  int start(const Launch& launch, char* const* operands, const OperatorRun& run) const {
    switch (plan_.function) {
      case Function::rms_norm: return launch_norm(launch, operands, plan_.epsilon, schedule_.nest);
      case Function::causal_softmax: return launch_softmax(launch, operands, schedule_.nest);
      case Function::rope: return launch_rope(launch, operands, schedule_.nest);
      case Function::random_sample: return draw(launch, operands, run.samples);
      case Function::cast: return launch_cast(launch, operands, schedule_.nest);
      case Function::convert: return launch_convert(launch, operands, schedule_.nest, numbers_);
      default: return launch_map(launch, operands, schedule_.nest);
    }
  }

  // Every row has options of its own: a launch for each.
  int draw(const Launch& launch, char* const* operands, const SampleOptions* samples) const {
    const RowNest& nest = schedule_.nest;
    int code = 0;
    for (int64_t row = 0; row < nest.rows && code == 0; ++row, ++samples) {
      char* at[max_operands] = {};
      for (int k = 0; k < 2; ++k)
        at[k] = operands[k] + (nest.depth > 0 ? row * nest.loops[0].steps[k] : 0);
      code = launch_sample(launch, at, samples->random_val, samples->topp, samples->temperature,
                           samples->topk, is_greedy(*samples), nest);
    }
    return code;
  }

  OperatorPlan plan_;
  RowSchedule schedule_;
  ConvertNumbers numbers_{};  // of convert alone
  std::unique_ptr<RearrangeKernel> copies_[max_operands];
};

// The chip has no exponential, root or error function of f64.
bool needs_more_than_arithmetic(Function function) {
  switch (function) {
    case Function::add:
    case Function::sub:
    case Function::mul:
    case Function::div:
    case Function::relu:
    case Function::rope:
    case Function::random_sample:  // which is in f32
    case Function::cast:
    case Function::convert: return false;
    default: return true;
  }
}

}  // namespace

std::unique_ptr<OperatorKernel> make_operator(infini::Device& device, const OperatorPlan& plan,
                                              const Choice&) {
  require(plan.dtypes[1] != INFINI_DTYPE_F64 || !needs_more_than_arithmetic(plan.function),
          INFINI_STATUS_NOT_IMPLEMENTED, "the kunlun backend declines this ",
          facts_of(plan.function).name, ": the XPU has no exponential and no root of f64");
  return std::make_unique<RowOperator>(static_cast<Device&>(device), plan);
}

}  // namespace infini::kunlun
