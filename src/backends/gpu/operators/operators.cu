// Elementwise and row operators, prepared: all but the operands' addresses is known when they are made.
#include "backends/gpu/operators/operators.h"

#include <algorithm>
#include <climits>
#include <vector>

#include "backends/gpu/convert/convert.h"
#include "backends/gpu/operators/kernel_table.cuh"
#include "backends/gpu/operators/sampler.cuh"
#include "backends/gpu/operators/split.h"
#include "backends/gpu/runtime/check.h"
#include "backends/gpu/runtime/device.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::gpu {
namespace {

constexpr int64_t most_blocks = 1 << 16;  // each takes more than one unit then
constexpr int64_t many_blocks = 4096;

class GpuOperator final : public OperatorKernel {
 public:
  GpuOperator(const GpuDevice& device, const OperatorPlan& plan, Split split,
              const ConvertNumbers& numbers, const HeadGroup& heads)
      : device_(device),
        split_(std::move(split)),
        elementwise_(facts_of(plan.function).elementwise || plan.function == Function::rope),
        kernels_(plan.function == Function::convert ? convert_kernels(plan, numbers)
                                                    : kernels_of(plan)),
        single_(make_ready(kernels_.single, device.facts().early_launch)),
        vectors_(make_ready(kernels_.vectors != nullptr ? kernels_.vectors : kernels_.single,
                            device.facts().early_launch)),
        may_be_vectors_(kernels_.vectors != nullptr &&
                        (plan.function == Function::convert ? converts_in_vectors(plan, numbers)
                                                            : lie_together(plan, heads))),
        numbers_(numbers),
        heads_(heads) {
    std::copy_n(plan.offsets, max_operands, offsets_);
    for (int i = 0; i < long_kernels; ++i)
      of_long_rows_[i] = make_ready(
          kernels_.of_long_rows[i] != nullptr ? kernels_.of_long_rows[i] : kernels_.single,
          device.facts().early_launch);
  }
  const char* candidate() const override { return "row_loop"; }
  std::string schedule() const override {
    return std::to_string(split_.nest.rows) + " rows of " + std::to_string(split_.nest.length) +
           (may_be_vectors_ ? ", in vectors of " + std::to_string(kernels_.count) : "");
  }

  void run(const OperatorRun& run) const override {
    const Stream stream = device_.live(run.stream);
    RowPointers base{};
    for (int i = 0; i < split_.nest.operands; ++i) {
      if (is_absent(i)) continue;
      require_reachable(device_, run.operands[i], "an operand");
      base.at[i] = static_cast<char*>(run.operands[i]) + offsets_[i];
    }
    walk(0, base, stream);
  }

 private:
  bool is_absent(int operand) const {
    return split_.nest.function == Function::convert && operand >= 2 &&
           !numbers_.along[operand - 2];
  }
  // Of positions every row has one.
  bool is_single(int operand) const {
    return split_.nest.function == Function::rope && operand == 2;
  }
  // Bytes of an operand that a thread has of each vector: pairs of neighbours are two elements.
  int64_t unit_of(int operand) const {
    if (split_.nest.function == Function::convert)
      return convert_unit(numbers_, split_.nest.dtypes, split_.nest.row_steps, operand);
    const bool pairs = kernels_.neighbours && operand < 2;
    return dtype_bytes(split_.nest.dtypes[operand]) * kernels_.count * (pairs ? 2 : 1);
  }
  // Elements of every operand lie together or are all the same, and all rows begin at whole vectors if the bases do.
  bool lie_together(const OperatorPlan& plan, const HeadGroup& heads) const {
    const bool rope = plan.function == Function::rope;
    if (plan.length % kernels_.count != 0) return false;
    for (int k = 0; k < plan.operands; ++k) {
      if (is_single(k)) continue;
      const int64_t unit = unit_of(k);
      const bool repeated = plan.row_steps[k] == 0 && k > (rope ? 1 : 0);
      if (rope && k < 2 && !kernels_.neighbours && plan.pair_steps[k] % unit != 0) return false;
      if (rope && k < 2 && heads.steps[k] % unit != 0) return false;
      if (rope && k > 2 && plan.table_steps[k - 3] % unit != 0) return false;
      if (!repeated && plan.row_steps[k] * kernels_.count != unit) return false;
      for (int i = 0; i < plan.depth && !repeated; ++i)
        if (plan.loops[i].steps[k] % unit != 0) return false;
    }
    return true;
  }
  bool bases_allow(const RowPointers& base) const {
    for (int k = 0; k < split_.nest.operands; ++k) {
      const bool converts = split_.nest.function == Function::convert;
      if (is_single(k) || (split_.nest.row_steps[k] == 0 && !converts)) continue;
      if (reinterpret_cast<uintptr_t>(base.at[k]) % static_cast<uintptr_t>(unit_of(k)) != 0)
        return false;
    }
    return true;
  }

  // One launch, but for plans of more loops or elements than one can number.
  void walk(size_t level, const RowPointers& base, Stream stream) const {
    if (level == split_.outer.size()) return launch_rows(base, stream);
    const OperatorLoop& loop = split_.outer[level];
    RowPointers at = base;
    for (int64_t i = 0; i < loop.extent; ++i) {
      walk(level + 1, at, stream);
      for (int k = 0; k < split_.nest.operands; ++k) at.at[k] += loop.steps[k];
    }
  }

  void launch_rows(const RowPointers& base, Stream stream) const {
    const RowNest& nest = split_.nest;
    const bool in_vectors = may_be_vectors_ && bases_allow(base);
    const ReadyKernel& kernel = in_vectors ? vectors_ : single_;
    const auto count = static_cast<uint32_t>(in_vectors ? kernels_.count : 1);
    if (!elementwise_) {
      const uint32_t packs = nest.length / count;
      const RowSchedule schedule = make_row_schedule(nest.rows, packs, in_vectors ? held_packs : 0);
      if (in_vectors && !schedule.held && kernels_.of_long_rows[0] != nullptr)
        return launch_long_rows(packs, base, stream);
      const void* arguments[] = {&nest, &base, &schedule};
      return start(kernel, schedule.blocks, arguments, stream);
    }
    const uint32_t block_units = of_blocks(in_vectors);
    const FastDivisor per_row =
        make_fast_divisor(block_units != 0 ? block_units : nest.length / count);
    const uint32_t units = nest.rows * per_row.divisor;
    const bool rope = nest.function == Function::rope;
    const void* arguments[] = {&nest, &base, &per_row, &units,
                               rope ? static_cast<const void*>(&heads_) : &numbers_};
    start(kernel, block_units != 0 ? std::min<int64_t>(units, most_blocks) : blocks_for(units),
          arguments, stream);
  }

  void launch_long_rows(uint32_t packs, const RowPointers& base, Stream stream) const {
    int i = 0;
    while (i + 1 < long_kernels &&
           packs > row_block_threads * static_cast<uint32_t>(long_held_packs[i]))
      ++i;
    const RowSchedule schedule =
        make_row_schedule(split_.nest.rows, packs, static_cast<uint32_t>(long_held_packs[i]));
    const void* arguments[] = {&split_.nest, &base, &schedule};
    start(of_long_rows_[i], schedule.blocks, arguments, stream);
  }

  // Of a row: where a unit is a whole block's. Else 0.
  uint32_t of_blocks(bool in_vectors) const {
    return split_.nest.function == Function::convert
               ? convert_blocks(numbers_, split_.nest, in_vectors)
               : 0;
  }

  // Where there is enough for all processors, each thread fetches several units at once.
  int64_t blocks_for(uint32_t units) const {
    const int64_t blocks = ceil_div(int64_t{units}, operator_threads);
    const Function function = split_.nest.function;
    const bool ahead = function == Function::convert ||
                       (function != Function::rope && facts_of(function).takes != Takes::anything);
    return std::min(ahead && blocks >= many_blocks ? ceil_div(blocks, units_at_once) : blocks,
                    most_blocks);
  }

  size_t shared_bytes() const {
    return std::max(2 * operator_threads * sizeof(double),
                    split_.nest.function == Function::convert
                        ? convert_shared_bytes(numbers_, split_.nest)
                        : 0);
  }

  void start(const ReadyKernel& kernel, int64_t blocks, const void** arguments,
             Stream stream) const {
    check(launch(kernel, static_cast<unsigned>(blocks), operator_threads, arguments, shared_bytes(),
                 stream),
          "cannot launch ", facts_of(split_.nest.function).name);
  }

  const GpuDevice& device_;
  Split split_;
  bool elementwise_;
  Kernels kernels_;
  ReadyKernel single_, vectors_, of_long_rows_[long_kernels];
  bool may_be_vectors_;
  int64_t offsets_[max_operands];
  ConvertNumbers numbers_;  // of convert alone
  HeadGroup heads_;         // of rope alone
};

}  // namespace

std::unique_ptr<OperatorKernel> make_operator(Device& device, const OperatorPlan& given,
                                              const Choice&) {
  Split parts;
  ConvertNumbers numbers;
  OperatorPlan plan = given;
  if (plan.function == Function::convert) {
    numbers = take_convert_walk(plan);
  }
  HeadGroup heads;
  if (plan.function == Function::rope) heads = take_heads(plan);
  if (!split(plan, parts)) return nullptr;
  if (plan.function == Function::random_sample)
    return std::make_unique<GpuSampler>(static_cast<const GpuDevice&>(device), plan,
                                        std::move(parts));
  return std::make_unique<GpuOperator>(static_cast<const GpuDevice&>(device), plan,
                                       std::move(parts), numbers, heads);
}

}  // namespace infini::gpu
