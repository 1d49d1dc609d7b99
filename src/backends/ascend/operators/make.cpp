// Preparing elementwise and row operators: what is declined, what is packed, and the memory that they need.
#include <acl/acl.h>

#include <vector>

#include "backends/ascend/operators/functions.h"
#include "backends/ascend/rearrange/rearrange.h"
#include "base/dtype.h"
#include "plan/operators/convert_plan.h"

namespace infini::ascend {
namespace {

bool is_map(const OperatorPlan& plan) { return facts_of(plan.function).elementwise; }

bool goes_backwards(const OperatorPlan& plan, int operand) {
  bool found = plan.length > 1 && plan.row_steps[operand] < 0;
  for (int i = 0; i < plan.depth; ++i) found = found || plan.loops[i].steps[operand] < 0;
  return found;
}

// Row after row in the order of the loops.
bool is_dense(const OperatorPlan& plan, int operand) {
  if (!is_dense_row(plan, operand)) return false;
  int64_t step = plan.length * dtype_bytes(plan.dtypes[operand]);
  for (int i = plan.depth; i-- > 0; step *= plan.loops[i].extent)
    if (plan.loops[i].extent > 1 && plan.loops[i].steps[operand] != step) return false;
  return plan.offsets[operand] == 0;
}

// Bits of an integer type, and of a float's significand.
int whole_bits(infiniDtype_t dtype) {
  const bool is_signed = dtype >= INFINI_DTYPE_I8 && dtype <= INFINI_DTYPE_I64;
  if (dtype == INFINI_DTYPE_BOOL) return 1;
  return static_cast<int>(8 * dtype_bytes(dtype)) - (is_signed ? 1 : 0);
}
int float_bits(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16    ? 11
         : dtype == INFINI_DTYPE_BF16 ? 8
         : dtype == INFINI_DTYPE_F32  ? 24
         : dtype == INFINI_DTYPE_F64  ? 53
                                      : 0;
}

// aclnnCast truncates to integers, wraps around, and does not say how it rounds integers or f64 to narrow floats: its are casts that
// keep every value, and those that round once between floats.
bool casts_as_we_do(infiniDtype_t to, infiniDtype_t from) {
  if (to == INFINI_DTYPE_BOOL) return true;
  const bool to_float = float_bits(to) > 0, from_float = float_bits(from) > 0;
  if (from_float) return to_float && (from != INFINI_DTYPE_F64 || float_bits(to) >= 24);
  if (to_float) return whole_bits(from) <= float_bits(to);
  const bool from_signed = from >= INFINI_DTYPE_I8 && from <= INFINI_DTYPE_I64,
             to_signed = to >= INFINI_DTYPE_I8 && to <= INFINI_DTYPE_I64;
  return whole_bits(from) <= whole_bits(to) && (to_signed || !from_signed);
}

// Of rope: heads one after another, each of them the first elements of its pairs and then the second ones; tables row by row.
bool is_dense_in_rope(const OperatorPlan& plan, int operand) {
  const int64_t row = plan.length * dtype_bytes(plan.dtypes[operand]);
  if (!is_dense_row(plan, operand)) return false;
  if (operand > 2) return plan.table_rows <= 1 || plan.table_steps[operand - 3] == row;
  int64_t step = 2 * row;
  for (int i = plan.depth; i-- > 0; step *= plan.loops[i].extent)
    if (plan.loops[i].steps[operand] != step) return false;
  return plan.pair_steps[operand] == row;
}

unsigned all_operands(const OperatorPlan& plan) {
  unsigned all = 0;
  for (int k = 0; k < plan.operands; ++k) all |= is_absent(plan, k) ? 0u : 1u << k;
  return all;
}

// Views have up to 8 dims and no negative strides; row functions get dense operands, softmax a copy that it may change.
unsigned packed_operands(const OperatorPlan& plan) {
  const unsigned all = all_operands(plan);
  unsigned which = 0;
  switch (plan.function) {
    case Function::rope:
      for (const int k : {0, 1, 3, 4}) which |= is_dense_in_rope(plan, k) ? 0u : 1u << k;
      return which | 4u;
    case Function::random_sample: return is_dense(plan, 1) ? 0 : 2;
    case Function::causal_softmax: return is_dense(plan, 0) ? 2 : 3;
    case Function::rms_norm:
      for (int k = 0; k < 2; ++k) which |= is_dense(plan, k) ? 0u : 1u << k;
      return which | (is_dense_row(plan, 2) ? 0u : 4u);
    default:
      if (plan.depth + 1 > max_view_rank) return all;
      for (int k = 0; k < plan.operands; ++k) which |= goes_backwards(plan, k) ? 1u << k : 0u;
      return which;
  }
}

bool is_hosts(const OperatorPlan& plan) {
  return (is_map(plan) && !has_call(plan.function)) ||  // convert has none, either
         (plan.function == Function::cast && !casts_as_we_do(plan.dtypes[0], plan.dtypes[1]));
}

class AclnnOperator final : public OperatorKernel {
 public:
  AclnnOperator(Device& device, const OperatorPlan& plan)
      : device_(device), function_(plan.function), on_host_(is_hosts(plan)) {
    const bool expand = is_map(plan) && (on_host_ || plan.depth + 1 > max_view_rank);
    packed_ = pack_operands(plan, on_host_ ? all_operands(plan) : packed_operands(plan), expand);
    for (int k = 0; k < plan.operands; ++k)
      if (packed_.operands[k].packed) copies_[k] = make_rearrange(device, packed_.operands[k].copy);
    Calls counted(static_cast<size_t>(packed_.bytes));
    char* nowhere[max_operands] = {};
    compute(counted, {packed_.plan, nowhere, nullptr, nullptr, nullptr});
    memory_bytes_ = counted.used();
    if (function_ == Function::causal_softmax) make_mask();
  }
  ~AclnnOperator() override {
    if (mask_ == nullptr) return;
    try {
      device_.make_current();
      device_.free(mask_);
    } catch (...) {  // CANN is gone, and the memory with it
    }
  }
  const char* candidate() const override {
    return on_host_ || function_ == Function::random_sample ? "host"
           : packed_.bytes > 0                              ? "aclnn_packed"
                                                            : "aclnn";
  }
  std::string schedule() const override {
    return std::to_string(memory_bytes_) + " bytes of stream-ordered memory";
  }

  void run(const OperatorRun& run) const override {
    const Scratch scratch(device_.stream_memory(), memory_bytes_, run.stream);
    char* const base = static_cast<char*>(scratch.get());
    char* operands[max_operands] = {};
    for (int k = 0; k < packed_.plan.operands; ++k) {
      operands[k] = static_cast<char*>(run.operands[k]);
      if (!copies_[k]) continue;
      operands[k] = base + packed_.operands[k].at;
      if (k > 0) copies_[k]->run(operands[k], run.operands[k], run.stream);
    }
    Calls calls(device_.stream_memory(), run.stream, base, static_cast<size_t>(packed_.bytes));
    compute(calls, {packed_.plan, operands, run.samples, &device_, run.stream});
    if (copies_[0]) copies_[0]->run(run.operands[0], operands[0], run.stream);
  }

 private:
  void compute(Calls& calls, const FunctionRun& run) const {
    switch (function_) {
      case Function::rms_norm: return run_rms_norm(calls, run);
      case Function::causal_softmax: return run_softmax(calls, run, mask_);
      case Function::rope: return run_rope(calls, run);
      case Function::random_sample: return run_sample(calls, run);
      default: break;
    }
    if (!on_host_) return run_map(calls, run);
    if (calls.is_dry()) return;
    if (function_ == Function::cast) return run_host_cast(run);
    function_ == Function::convert ? run_host_convert(run) : run_host_map(run);
  }

  // A byte for each element of a matrix, uploaded once.
  void make_mask() {
    const OperatorPlan& plan = packed_.plan;
    const int64_t height = plan.loops[plan.depth - 1].extent, length = plan.length;
    if (height == 1) return;
    std::vector<char> hidden(static_cast<size_t>(height * length));
    for (int64_t row = 0; row < height; ++row)
      for (int64_t i = length - height + row + 1; i < length; ++i)
        hidden[static_cast<size_t>(row * length + i)] = 1;
    mask_ = static_cast<char*>(device_.allocate(hidden.size()));
    const int code =
        aclrtMemcpy(mask_, hidden.size(), hidden.data(), hidden.size(), ACL_MEMCPY_HOST_TO_DEVICE);
    if (code == 0) return;
    aclrtFree(mask_);
    check(code, "aclrtMemcpy");
  }

  Device& device_;
  Function function_;
  bool on_host_;  // what the vendor's calls compute otherwise
  PackedOperator packed_;
  std::unique_ptr<RearrangeKernel> copies_[max_operands];
  size_t memory_bytes_ = 0;
  char* mask_ = nullptr;
};

}  // namespace

std::string why_declined(const OperatorPlan& plan) {
  const Function f = plan.function;
  if (f == Function::convert || f == Function::cast) return "";
  const bool exact = f == Function::add || f == Function::sub || f == Function::mul ||
                     f == Function::div || f == Function::rope;
  if (plan.dtypes[1] == INFINI_DTYPE_F64 && !exact && !is_hosts(plan) &&
      f != Function::random_sample)
    return "the vendor's operator takes f16, bf16 and f32";
  return "";
}

std::unique_ptr<OperatorKernel> make_operator(infini::Device& device, const OperatorPlan& plan,
                                              const Choice&) {
  const std::string reason = why_declined(plan);
  require(reason.empty(), INFINI_STATUS_NOT_IMPLEMENTED, "the ascend backend declines this ",
          facts_of(plan.function).name, ": ", reason);
  return std::make_unique<AclnnOperator>(static_cast<Device&>(device), plan);
}

}  // namespace infini::ascend
