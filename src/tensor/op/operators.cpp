// Elementwise and row operators on tensors: looked up in the table by name, prepared once, recorded or run.
#include <bit>
#include <optional>

#include "infinicore/ops/elementwise.hpp"
#include "infinicore/ops/linear.hpp"
#include "infinicore/ops/matmul.hpp"
#include "infinicore/ops/ones.hpp"
#include "infinicore/ops/rearrange.hpp"
#include "infinicore/ops/rows.hpp"
#include "infinicore/ops/zeros.hpp"
#include "tensor/edge.h"
#include "tensor/graph/step.h"
#include "tensor/op/copy.h"
#include "tensor/op/workspace.h"
#include "tensor/thread_state.h"

namespace infinicore::op {
namespace {

using namespace detail;
using infini::facts_of;
using infini::Function;
using infini::FunctionFacts;
using infini::require;
using Prepared = std::shared_ptr<const infini::Operator>;

struct Call {
  Function function;
  std::vector<Tensor> operands;  // the result first
  infini::OperatorOptions options = {};
  std::optional<infini::SampleOptions> sample = {};  // of every row
};

// All of the options in one word of the cache's key.
uint64_t key_of(const infini::OperatorOptions& options) {
  return uint64_t{std::bit_cast<uint32_t>(options.epsilon)} << 1 | uint64_t{options.neox};
}

Prepared prepare(ThreadState& thread, infini::Place& place, const Call& call) {
  const TensorImpl* tensors[infini::max_operands];
  const size_t count = call.operands.size();
  for (size_t i = 0; i < count; ++i) tensors[i] = call.operands[i].operator->();
  return thread.operators[static_cast<size_t>(call.function)].get(
      Problem(place, key_of(call.options), tensors, count), [&] {
        std::vector<infini::Layout> layouts;
        const infini::Layout* pointers[infini::max_operands];
        for (size_t i = 0; i < count; ++i) layouts.push_back(layout_of(*tensors[i]));
        for (size_t i = 0; i < count; ++i) pointers[i] = &layouts[i];
        return std::make_shared<const infini::Operator>(
            place.device, infini::make_operator_plan(call.function, pointers, call.options));
      });
}

class OperatorStep : public Step {
 public:
  OperatorStep(infini::Place& place, Prepared prepared, const Call& call)
      : Step(place, call.operands),
        prepared_(std::move(prepared)),
        samples_(call.sample ? static_cast<size_t>(infini::row_count(prepared_->plan())) : 0,
                 call.sample.value_or(infini::SampleOptions{})) {}

  void run(void* stream) const override {
    infini::OperatorRun run{workspace(), {}, samples_.data(), stream};
    for (size_t i = 0; i < operands().size(); ++i) run.operands[i] = data(i);
    if (workspace() != nullptr || workspace_bytes() == 0)
      return prepared_->run(run, workspace_bytes());
    const Workspace own(place().memory, workspace_bytes(), stream);
    run.workspace = own.data();
    prepared_->run(run, workspace_bytes());
  }
  size_t workspace_bytes() const override { return prepared_->workspace_bytes(); }
  std::string describe() const override {
    const infini::OperatorKernel* kernel = prepared_->kernel();
    std::string text = facts_of(prepared_->plan().function).name;
    for (size_t i = 0; i < operands().size(); ++i)
      text += (i == 0 ? " " : i == 1 ? " <- " : ", ") + operands()[i]->info();
    return text + ", " + (kernel ? kernel->candidate() : "nothing to do");
  }
  void check(const std::vector<Tensor>& tensors) const override {
    infini::OperatorRun run;
    run.samples = samples_.data();
    for (size_t i = 0; i < tensors.size(); ++i)
      run.operands[i] = const_cast<std::byte*>(tensors[i]->data());
    if (prepared_->kernel() != nullptr) prepared_->require_operands(run);
  }

 private:
  Prepared prepared_;
  std::vector<infini::SampleOptions> samples_;
};

void execute(const Call& call) {
  ThreadState& thread = this_thread();
  const FunctionFacts& facts = facts_of(call.function);
  const TensorImpl& first = TensorAccess::impl(call.operands[0], facts.names[0]);
  infini::Place& place = first.memory()->place();
  for (size_t i = 1; i < call.operands.size(); ++i)
    common_place(first, facts.names[0], TensorAccess::impl(call.operands[i], facts.names[i]),
                 facts.names[i]);
  auto step = std::make_unique<OperatorStep>(place, prepare(thread, place, call), call);
  if (thread.recording) step->check(step->operands());
  record_or_run(std::move(step));
}

Function function_named(const char* name, size_t operands) {
  const int number = name == nullptr ? infini::function_count : infini::function_from_name(name);
  require(number < infini::elementwise_count, INFINI_STATUS_BAD_PARAM,
          "there is no elementwise operator \"", name == nullptr ? "" : name,
          "\"; infiniopOperatorName lists them");
  const FunctionFacts& facts = infini::functions[number];
  require(operands == static_cast<size_t>(facts.operands), INFINI_STATUS_BAD_PARAM, facts.name,
          " has ", facts.operands - 1, " sources, ", operands - 1, " were given");
  return static_cast<Function>(number);
}

// The shape that NumPy gives operands which are repeated against each other.
Shape common_shape(Function function, const std::vector<Tensor>& sources) {
  Shape shape;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Shape& own = TensorAccess::impl(sources[i], facts_of(function).names[i + 1]).shape();
    if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), 1);
    for (size_t d = 0; d < own.size(); ++d) {
      Size& extent = shape[shape.size() - own.size() + d];
      require(extent == own[d] || extent == 1 || own[d] == 1, INFINI_STATUS_BAD_TENSOR_SHAPE,
              facts_of(function).name, ": ", facts_of(function).names[i + 1], " is ", text(own),
              ", which does not fit to ", text(sources[0]->shape()));
      if (own[d] != 1) extent = own[d];
    }
  }
  return shape;
}

// New, of x's shape and dtype.
Tensor like(const Tensor& x, const char* name) {
  const TensorImpl& impl = TensorAccess::impl(x, name);
  return empty_at(impl.memory()->place(), impl.shape(), impl.dtype());
}

bool is_neox(infiniopRoPEAlgo_t algo) {
  require(algo == INFINIOP_ROPE_ALGO_GPT_J || algo == INFINIOP_ROPE_ALGO_GPT_NEOX,
          INFINI_STATUS_BAD_PARAM, "algo is ", static_cast<int>(algo),
          "; expected 0 (GPT_J) or 1 (GPT_NEOX)");
  return algo == INFINIOP_ROPE_ALGO_GPT_NEOX;
}

}  // namespace

void elementwise_(const char* name, const std::vector<Tensor>& operands) {
  return at_edge([&] { execute({function_named(name, operands.size()), operands}); });
}

Tensor elementwise(const char* name, const std::vector<Tensor>& sources) {
  return at_edge([&] {
    const Function function = function_named(name, sources.size() + 1);
    const TensorImpl& first = TensorAccess::impl(sources[0], facts_of(function).names[1]);
    Tensor result =
        empty_at(first.memory()->place(), common_shape(function, sources), first.dtype());
    std::vector<Tensor> operands{result};
    operands.insert(operands.end(), sources.begin(), sources.end());
    execute({function, std::move(operands)});
    return result;
  });
}

Tensor cast(const Tensor& x, DataType dtype) {
  return at_edge([&] {
    const TensorImpl& impl = TensorAccess::impl(x, "x");
    Tensor y = empty_at(impl.memory()->place(), impl.shape(), dtype);
    execute({Function::cast, {y, x}});
    return y;
  });
}

void rms_norm_(const Tensor& y, const Tensor& x, const Tensor& w, float epsilon) {
  return at_edge([&] { execute({Function::rms_norm, {y, x, w}, {.epsilon = epsilon}}); });
}
Tensor rms_norm(const Tensor& x, const Tensor& w, float epsilon) {
  Tensor y = at_edge([&] { return like(x, "x"); });
  rms_norm_(y, x, w, epsilon);
  return y;
}

void causal_softmax_(const Tensor& y, const Tensor& x) {
  return at_edge([&] { execute({Function::causal_softmax, {y, x}}); });
}
Tensor causal_softmax(const Tensor& x) {
  Tensor y = at_edge([&] { return like(x, "x"); });
  causal_softmax_(y, x);
  return y;
}

void rope_(const Tensor& y, const Tensor& x, const Tensor& positions, const Tensor& sin_table,
           const Tensor& cos_table, infiniopRoPEAlgo_t algo) {
  return at_edge([&] {
    execute({Function::rope, {y, x, positions, sin_table, cos_table}, {.neox = is_neox(algo)}});
  });
}
Tensor rope(const Tensor& x, const Tensor& positions, const Tensor& sin_table,
            const Tensor& cos_table, infiniopRoPEAlgo_t algo) {
  Tensor y = at_edge([&] { return like(x, "x"); });
  rope_(y, x, positions, sin_table, cos_table, algo);
  return y;
}

void random_sample_(const Tensor& result, const Tensor& logits, float random_val, float topp,
                    int topk, float temperature) {
  return at_edge([&] {
    execute({Function::random_sample,
             {result, logits},
             {},
             infini::SampleOptions{random_val, topp, temperature, topk}});
  });
}
Tensor random_sample(const Tensor& logits, float random_val, float topp, int topk,
                     float temperature) {
  return at_edge([&] {
    const TensorImpl& impl = TensorAccess::impl(logits, "logits");
    const Shape shape = impl.ndim() == 2 ? Shape{impl.shape()[0]} : Shape{};
    Tensor result = empty_at(impl.memory()->place(), shape, DataType::I32);
    random_sample_(result, logits, random_val, topp, topk, temperature);
    return result;
  });
}

// The bias is there before the product is added to it, so that both are rounded once.
void linear_(const Tensor& y, const Tensor& x, const Tensor& weight, std::optional<Tensor> bias) {
  return at_edge([&] {
    TensorAccess::impl(y, "y");
    TensorAccess::impl(x, "x");
    const TensorImpl& w = TensorAccess::impl(weight, "weight");
    require(w.ndim() == 2, INFINI_STATUS_BAD_TENSOR_SHAPE, "weight is ", text(w.shape()),
            "; expected [out, in]");
    const bool single = x->ndim() == 1;  // a row without a dim of its own
    const Tensor rows = single ? x->unsqueeze(0) : x, result = single ? y->unsqueeze(0) : y;
    if (bias) rearrange_(y, detail::broadcast_to(*bias, y->shape()));
    matmul_(result, rows, w.permute({1, 0}), 1.0, bias ? 1.0 : 0.0);
  });
}
Tensor linear(const Tensor& x, const Tensor& weight, std::optional<Tensor> bias) {
  return at_edge([&] {
    const TensorImpl &in = TensorAccess::impl(x, "x"), &w = TensorAccess::impl(weight, "weight");
    require(in.ndim() >= 1 && w.ndim() == 2, INFINI_STATUS_BAD_TENSOR_SHAPE, "x is ",
            text(in.shape()), ", weight is ", text(w.shape()),
            "; expected [..., in] and [out, in]");
    Shape shape = in.shape();
    shape.back() = w.shape()[0];
    Tensor y = empty_at(in.memory()->place(), shape, in.dtype());
    linear_(y, x, weight, std::move(bias));
    return y;
  });
}

void zeros_(const Tensor& y) {
  return at_edge([&] {
    const TensorImpl& impl = TensorAccess::impl(y, "y");
    if (impl.is_contiguous()) return fill_with_zero_bytes(y);
    Tensor zero = empty_at(impl.memory()->place(), {}, impl.dtype());
    fill_with_zero_bytes(zero);
    rearrange_(y, detail::broadcast_to(zero, impl.shape()));
  });
}
void ones_(const Tensor& y) {
  return at_edge([&] {
    const TensorImpl& impl = TensorAccess::impl(y, "y");
    rearrange_(y,
               detail::broadcast_to(scalar_tensor(1, impl.dtype(), impl.device()), impl.shape()));
  });
}

}  // namespace infinicore::op
