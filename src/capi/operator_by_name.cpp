// infiniop/ops/operator.h: operators by their names.
#include <vector>

#include "capi/operators.h"

using namespace infini;

namespace {

OperatorOptions options_of(const infiniopOperatorOptions_t* options) {
  OperatorOptions chosen;
  if (options == nullptr) return chosen;
  require(options->size == sizeof *options, INFINI_STATUS_BAD_PARAM, "options->size is ",
          options->size, "; expected ", sizeof *options);
  require(options->algo == INFINIOP_ROPE_ALGO_GPT_J || options->algo == INFINIOP_ROPE_ALGO_GPT_NEOX,
          INFINI_STATUS_BAD_PARAM, "options->algo is ", static_cast<int>(options->algo),
          "; expected 0 (GPT_J) or 1 (GPT_NEOX)");
  chosen.epsilon = options->epsilon;
  chosen.neox = options->algo == INFINIOP_ROPE_ALGO_GPT_NEOX;
  return chosen;
}

// Null: there is none of this name.
const FunctionFacts* find_facts(const char* name) {
  const int number = name == nullptr ? named_count : function_from_name(name);
  return number >= named_count ? nullptr : &functions[number];
}

void require_count(const FunctionFacts& facts, size_t count) {
  require(count == static_cast<size_t>(facts.operands), INFINI_STATUS_BAD_PARAM, facts.name,
          " has ", facts.operands, " operands, ", count, " were given");
}

}  // namespace

const char* infiniopOperatorName(size_t number) {
  return number < static_cast<size_t>(named_count) ? functions[number].name : nullptr;
}
const char* infiniopOperatorAbout(const char* name) {
  const FunctionFacts* const facts = find_facts(name);
  return facts == nullptr ? nullptr : facts->about;
}
size_t infiniopOperatorOperands(const char* name) {
  const FunctionFacts* const facts = find_facts(name);
  return facts == nullptr ? 0 : static_cast<size_t>(facts->operands);
}

infiniStatus_t infiniopCreateOperatorDescriptor(infiniopHandle_t handle,
                                                infiniopOperatorDescriptor_t* desc,
                                                const char* name,
                                                const infiniopTensorDescriptor_t* operands,
                                                size_t count,
                                                const infiniopOperatorOptions_t* options) {
  return at_boundary([&] {
    require_out(desc, "desc");
    require_pointer(name, "name");
    require_pointer(operands, "operands");
    const FunctionFacts* const facts = find_facts(name);
    require(facts != nullptr, INFINI_STATUS_BAD_PARAM, "there is no operator \"", name,
            "\"; infiniopOperatorName lists them");
    require_count(*facts, count);
    std::vector<Layout> layouts(count);
    const Layout* pointers[max_operands];
    for (size_t i = 0; i < count; ++i) {
      layouts[i] = layout_of(operands[i], facts->names[i]);
      pointers[i] = &layouts[i];
    }
    const auto function = static_cast<Function>(facts - functions);
    *desc = create_operator(handle, make_operator_plan(function, pointers, options_of(options)));
  });
}

infiniStatus_t infiniopGetOperatorWorkspaceSize(infiniopOperatorDescriptor_t desc, size_t* size) {
  return with_operator(desc, [&](const Operator& op) {
    require_pointer(size, "size");
    *size = op.workspace_bytes();
  });
}

infiniStatus_t infiniopRunOperator(infiniopOperatorDescriptor_t desc, void* workspace,
                                   size_t workspace_size, void* const* operands, size_t count,
                                   const infiniopSampleOptions_t* samples, void* stream) {
  return with_operator(desc, [&](const Operator& op) {
    require_pointer(operands, "operands");
    require_count(facts_of(op.plan().function), count);
    OperatorRun run{workspace, {}, nullptr, stream};
    std::copy_n(operands, count, run.operands);
    if (op.plan().function != Function::random_sample) return op.run(run, workspace_size);
    require_pointer(samples, "samples");
    std::vector<SampleOptions> each;
    for (int64_t i = 0; i < row_count(op.plan()); ++i)
      each.push_back(
          {samples[i].random_val, samples[i].topp, samples[i].temperature, samples[i].topk});
    run.samples = each.data();
    op.run(run, workspace_size);
  });
}

infiniStatus_t infiniopDestroyOperatorDescriptor(infiniopOperatorDescriptor_t desc) {
  return destroy_any_operator(desc);
}
