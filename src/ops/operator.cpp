// Preparing and running elementwise and row operators.
#include "ops/operator.h"

#include <limits>

#include "base/dtype.h"
#include "base/threads/thread_slot.h"
#include "contract/greedy.h"
#include "ops/aligned.h"
#include "plan/layout/disjoint.h"
#include "plan/operators/convert_plan.h"
#include "runtime/registry.h"

namespace infini {
namespace {

constexpr uintptr_t workspace_alignment = 64;

std::shared_ptr<const OperatorKernel> make_kernel(Device& device, const OperatorPlan& plan,
                                                  const Choice& choice) {
  const Backend* backend = find_backend(device.kind());
  const char* const name = facts_of(plan.function).name;
  require(backend->kernels.operators != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "the ",
          backend->name, " backend has no ", name);
  const Section whole;  // what backends find out once must not be cut in two by a fork
  device.make_current();
  std::shared_ptr<const OperatorKernel> kernel = backend->kernels.operators(device, plan, choice);
  require(kernel != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "the ", backend->name,
          " backend declines this ", name, ":\n", to_string(plan));
  return kernel;
}

// All loops of one operand, its row and (rope) the two halves of its pairs among them.
std::vector<Dim> dims_of(const OperatorPlan& plan, int operand) {
  std::vector<Dim> dims;
  for (int i = 0; i < plan.depth; ++i)
    dims.push_back({plan.loops[i].extent, plan.loops[i].steps[operand]});
  dims.push_back({plan.length, plan.row_steps[operand]});
  if (plan.function == Function::rope && operand < 2) dims.push_back({2, plan.pair_steps[operand]});
  if (plan.function == Function::rope && operand >= 3)
    dims.push_back({plan.table_rows, plan.table_steps[operand - 3]});
  return dims;
}

// Tables of rope may have no rows.
bool reads_nothing(const OperatorPlan& plan, int operand) {
  return plan.function == Function::rope && operand >= 3 && plan.table_rows == 0;
}

ByteRange range_of(const OperatorPlan& plan, int operand) {
  if (plan.length == 0 || reads_nothing(plan, operand)) return {};
  ByteRange range{plan.offsets[operand], plan.offsets[operand] + dtype_bytes(plan.dtypes[operand])};
  for (const Dim& dim : dims_of(plan, operand)) {
    const int64_t reach = (dim.extent - 1) * dim.step;
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

// never_meet() knows steps that ascend; what descends begins at its other end.
int64_t make_ascending(std::vector<Dim>& dims) {
  int64_t base = 0;
  for (Dim& dim : dims)
    if (dim.step < 0) {
      base += (dim.extent - 1) * dim.step;
      dim.step = -dim.step;
    }
  return base;
}

// What is not greedy draws by all three; comparisons with NaN are false.
void require_sensible(const SampleOptions& sample) {
  if (is_greedy(sample)) return;
  require(sample.random_val >= 0 && sample.random_val <= 1, INFINI_STATUS_BAD_PARAM,
          "random_val is ", sample.random_val, "; expected 0 to 1");
  require(sample.topp >= 0, INFINI_STATUS_BAD_PARAM, "topp is ", sample.topp,
          "; expected 0 or more");
  require(sample.temperature >= 0 && sample.temperature <= std::numeric_limits<float>::max(),
          INFINI_STATUS_BAD_PARAM, "temperature is ", sample.temperature,
          "; expected 0 or more, and finite");
}

}  // namespace

Operator::Operator(Device& device, const OperatorPlan& plan, const Choice& choice)
    : device_(&device), plan_(std::make_unique<const OperatorPlan>(plan)) {
  for (int i = 0; i < plan.operands; ++i) ranges_[i] = range_of(plan, i);
  if (plan.length == 0) return;
  kernel_ = make_kernel(device, plan, choice);
  told_ = ToldCalls::make(device, kernel_->candidate(), [&] { return to_string(plan); });
}

// Row functions work in place of their first source alone: what else they read is not read element for element.
bool Operator::same_places(int operand) const {
  const OperatorPlan& p = *plan_;
  if (!facts_of(p.function).elementwise && operand != 1) return false;
  bool same = p.offsets[0] == p.offsets[operand] && p.row_steps[0] == p.row_steps[operand] &&
              dtype_bytes(p.dtypes[0]) == dtype_bytes(p.dtypes[operand]);
  for (int i = 0; i < p.depth; ++i) same = same && p.loops[i].steps[0] == p.loops[i].steps[operand];
  return same &&
         (p.function != Function::rope || operand != 1 || p.pair_steps[0] == p.pair_steps[1]);
}

void Operator::require_apart(const OperatorRun& run, int operand) const {
  const auto to = reinterpret_cast<intptr_t>(run.operands[0]),
             from = reinterpret_cast<intptr_t>(run.operands[operand]);
  if (to + ranges_[0].end <= from + ranges_[operand].begin ||
      from + ranges_[operand].end <= to + ranges_[0].begin)
    return;
  if (to == from && same_places(operand)) return;
  auto dst = dims_of(*plan_, 0), src = dims_of(*plan_, operand);
  const int64_t dst_base = plan_->offsets[0] + make_ascending(dst),
                src_base = plan_->offsets[operand] + make_ascending(src);
  const FunctionFacts& facts = facts_of(plan_->function);
  require(never_meet(dst, dtype_bytes(plan_->dtypes[0]), src, dtype_bytes(plan_->dtypes[operand]),
                     from + src_base - to - dst_base),
          INFINI_STATUS_BAD_PARAM, facts.name, ": ", facts.names[0], " (", run.operands[0],
          ") shares memory with ", facts.names[operand], " (", run.operands[operand],
          ") but is not the same tensor");
}

void Operator::require_operands(const OperatorRun& run) const {
  const FunctionFacts& facts = facts_of(plan_->function);
  const auto is_read = [&](int operand) {
    return !is_absent(*plan_, operand) && !reads_nothing(*plan_, operand);
  };
  for (int i = 0; i < plan_->operands; ++i) {
    if (!is_read(i)) continue;
    require_pointer(run.operands[i], facts.names[i]);
    if (plan_->function != Function::convert)  // which moves bytes, as a copy does
      require_aligned(run.operands[i], facts.names[i], plan_->dtypes[i]);
  }
  for (int i = 1; i < plan_->operands; ++i)
    if (is_read(i)) require_apart(run, i);
  if (plan_->function == Function::random_sample)
    for (int64_t i = 0; i < row_count(*plan_); ++i) require_sensible(run.samples[i]);
}

void Operator::run_untold(const OperatorRun& run, size_t workspace_size) const {
  if (!kernel_) return;
  if (const size_t needed = kernel_->workspace_bytes(); needed > 0) {
    require(workspace_size >= needed, INFINI_STATUS_INSUFFICIENT_WORKSPACE, "workspace_size is ",
            workspace_size, "; this ", facts_of(plan_->function).name, " needs ", needed, " bytes");
    require_pointer(run.workspace, "workspace");
    require(reinterpret_cast<uintptr_t>(run.workspace) % workspace_alignment == 0,
            INFINI_STATUS_BAD_PARAM, "workspace (", run.workspace, ") is not ", workspace_alignment,
            "-byte aligned");
  }
  require_operands(run);
  device_->make_current();
  kernel_->run(run);
}

}  // namespace infini
