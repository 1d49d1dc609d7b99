// infiniop/ops/{rms_norm,causal_softmax,rope,random_sample}.h, and what all operators share.
#include <vector>

#include "capi/operators.h"

using namespace infini;

namespace infini {
namespace {

using OperatorCells = Operators<Operator, operator_tag>;

OperatorCells& cells() {
  static constinit Lazy<OperatorCells> all;
  return all.get();
}

void require_function(const Operator& op, Function function) {
  require(op.plan().function == function, INFINI_STATUS_BAD_PARAM, "desc is a descriptor of ",
          facts_of(op.plan().function).name, ", not of ", facts_of(function).name);
}

}  // namespace

InfiniopDescriptor* create_operator(infiniopHandle_t handle, const OperatorPlan& plan) {
  return create_descriptor(cells(), Operator(device_of(handle), plan));
}

infiniStatus_t workspace_of(Function function, InfiniopDescriptor* desc, size_t* size) {
  return at_boundary([&] {
    require_pointer(size, "size");
    const auto op = OperatorCells::pin(desc, "desc");
    require_function(*op, function);
    *size = op->workspace_bytes();
  });
}

infiniStatus_t run_operator(Function function, InfiniopDescriptor* desc, size_t workspace_size,
                            const OperatorRun& run) {
  return at_boundary([&] {
    const auto op = OperatorCells::pin(desc, "desc");
    require_function(*op, function);
    op->run(run, workspace_size);
  });
}

infiniStatus_t run_samples(InfiniopDescriptor* desc, size_t workspace_size, OperatorRun run,
                           const SampleOptions* samples, int64_t rows) {
  return at_boundary([&] {
    const auto op = OperatorCells::pin(desc, "desc");
    require_function(*op, Function::random_sample);
    require(row_count(op->plan()) == rows, INFINI_STATUS_BAD_PARAM, "this descriptor has ",
            row_count(op->plan()), " rows of logits, the call ", rows);
    run.samples = samples;
    op->run(run, workspace_size);
  });
}

infiniStatus_t destroy_operator(Function function, InfiniopDescriptor* desc) {
  return destroy_unless_null(desc, [&] {
    require_function(*OperatorCells::pin(desc, "desc"), function);
    cells().destroy(desc, "desc");
  });
}

infiniStatus_t with_operator(InfiniopDescriptor* desc,
                             const std::function<void(const Operator&)>& body) {
  return at_boundary([&] { body(*OperatorCells::pin(desc, "desc")); });
}

infiniStatus_t destroy_any_operator(InfiniopDescriptor* desc) {
  return destroy_unless_null(desc, [&] { cells().destroy(desc, "desc"); });
}

OperatorRun make_run(void* workspace, void* stream, std::initializer_list<const void*> operands) {
  OperatorRun run{workspace, {}, nullptr, stream};
  int i = 0;
  for (const void* operand : operands) run.operands[i++] = const_cast<void*>(operand);
  return run;
}

}  // namespace infini

infiniStatus_t infiniopCreateRMSNormDescriptor(infiniopHandle_t handle,
                                               infiniopRMSNormDescriptor_t* desc,
                                               infiniopTensorDescriptor_t y,
                                               infiniopTensorDescriptor_t x,
                                               infiniopTensorDescriptor_t w, float epsilon) {
  return at_boundary([&] {
    require_out(desc, "desc");
    *desc = create_operator(handle, make_rms_norm_plan(layout_of(y, "y"), layout_of(x, "x"),
                                                       layout_of(w, "w"), epsilon));
  });
}
infiniStatus_t infiniopGetRMSNormWorkspaceSize(infiniopRMSNormDescriptor_t desc, size_t* size) {
  return workspace_of(Function::rms_norm, desc, size);
}
infiniStatus_t infiniopRMSNorm(infiniopRMSNormDescriptor_t desc, void* workspace,
                               size_t workspace_size, void* y, const void* x, const void* w,
                               void* stream) {
  return run_operator(Function::rms_norm, desc, workspace_size,
                      make_run(workspace, stream, {y, x, w}));
}
infiniStatus_t infiniopDestroyRMSNormDescriptor(infiniopRMSNormDescriptor_t desc) {
  return destroy_operator(Function::rms_norm, desc);
}

infiniStatus_t infiniopCreateCausalSoftmaxDescriptor(infiniopHandle_t handle,
                                                     infiniopCausalSoftmaxDescriptor_t* desc,
                                                     infiniopTensorDescriptor_t y,
                                                     infiniopTensorDescriptor_t x) {
  return at_boundary([&] {
    require_out(desc, "desc");
    *desc = create_operator(handle, make_causal_softmax_plan(layout_of(y, "y"), layout_of(x, "x")));
  });
}
infiniStatus_t infiniopGetCausalSoftmaxWorkspaceSize(infiniopCausalSoftmaxDescriptor_t desc,
                                                     size_t* size) {
  return workspace_of(Function::causal_softmax, desc, size);
}
infiniStatus_t infiniopCausalSoftmax(infiniopCausalSoftmaxDescriptor_t desc, void* workspace,
                                     size_t workspace_size, void* y, const void* x, void* stream) {
  return run_operator(Function::causal_softmax, desc, workspace_size,
                      make_run(workspace, stream, {y, x}));
}
infiniStatus_t infiniopDestroyCausalSoftmaxDescriptor(infiniopCausalSoftmaxDescriptor_t desc) {
  return destroy_operator(Function::causal_softmax, desc);
}

infiniStatus_t infiniopCreateRoPEDescriptor(infiniopHandle_t handle, infiniopRoPEDescriptor_t* desc,
                                            infiniopTensorDescriptor_t y,
                                            infiniopTensorDescriptor_t x,
                                            infiniopTensorDescriptor_t pos_ids,
                                            infiniopTensorDescriptor_t sin_table,
                                            infiniopTensorDescriptor_t cos_table,
                                            infiniopRoPEAlgo_t algo) {
  return at_boundary([&] {
    require_out(desc, "desc");
    require(algo == INFINIOP_ROPE_ALGO_GPT_J || algo == INFINIOP_ROPE_ALGO_GPT_NEOX,
            INFINI_STATUS_BAD_PARAM, "algo is ", static_cast<int>(algo),
            "; expected 0 (GPT_J) or 1 (GPT_NEOX)");
    *desc = create_operator(
        handle, make_rope_plan(layout_of(y, "y"), layout_of(x, "x"), layout_of(pos_ids, "pos_ids"),
                               layout_of(sin_table, "sin_table"), layout_of(cos_table, "cos_table"),
                               algo == INFINIOP_ROPE_ALGO_GPT_NEOX));
  });
}
infiniStatus_t infiniopGetRoPEWorkspaceSize(infiniopRoPEDescriptor_t desc, size_t* size) {
  return workspace_of(Function::rope, desc, size);
}
infiniStatus_t infiniopRoPE(infiniopRoPEDescriptor_t desc, void* workspace, size_t workspace_size,
                            void* y, const void* x, const void* pos_ids, const void* sin_table,
                            const void* cos_table, void* stream) {
  return run_operator(Function::rope, desc, workspace_size,
                      make_run(workspace, stream, {y, x, pos_ids, sin_table, cos_table}));
}
infiniStatus_t infiniopDestroyRoPEDescriptor(infiniopRoPEDescriptor_t desc) {
  return destroy_operator(Function::rope, desc);
}

infiniStatus_t infiniopCreateRandomSampleDescriptor(infiniopHandle_t handle,
                                                    infiniopRandomSampleDescriptor_t* desc,
                                                    infiniopTensorDescriptor_t result,
                                                    infiniopTensorDescriptor_t probs) {
  return infiniopCreateRandomSampleBatchDescriptor(handle, desc, result, probs);
}
infiniStatus_t infiniopCreateRandomSampleBatchDescriptor(infiniopHandle_t handle,
                                                         infiniopRandomSampleDescriptor_t* desc,
                                                         infiniopTensorDescriptor_t result,
                                                         infiniopTensorDescriptor_t probs) {
  return at_boundary([&] {
    require_out(desc, "desc");
    *desc = create_operator(
        handle, make_random_sample_plan(layout_of(result, "result"), layout_of(probs, "probs")));
  });
}
infiniStatus_t infiniopGetRandomSampleWorkspaceSize(infiniopRandomSampleDescriptor_t desc,
                                                    size_t* size) {
  return workspace_of(Function::random_sample, desc, size);
}
infiniStatus_t infiniopRandomSample(infiniopRandomSampleDescriptor_t desc, void* workspace,
                                    size_t workspace_size, void* result, const void* probs,
                                    float random_val, float topp, int topk, float temperature,
                                    void* stream) {
  const SampleOptions sample{random_val, topp, temperature, topk};
  return run_samples(desc, workspace_size, make_run(workspace, stream, {result, probs}), &sample,
                     1);
}
infiniStatus_t infiniopRandomSampleBatch(infiniopRandomSampleDescriptor_t desc, void* workspace,
                                         size_t workspace_size, void* result, const void* probs,
                                         const float* random_val, const float* topp,
                                         const int* topk, const float* temperature, int batch_size,
                                         void* stream) {
  std::vector<SampleOptions> samples;
  const infiniStatus_t status = at_boundary([&] {
    require_pointer(random_val, "random_val");
    require_pointer(topp, "topp");
    require_pointer(topk, "topk");
    require_pointer(temperature, "temperature");
    for (int i = 0; i < batch_size; ++i)
      samples.push_back({random_val[i], topp[i], temperature[i], topk[i]});
  });
  if (status != INFINI_STATUS_SUCCESS) return status;
  return run_samples(desc, workspace_size, make_run(workspace, stream, {result, probs}),
                     samples.data(), batch_size);
}
infiniStatus_t infiniopDestroyRandomSampleDescriptor(infiniopRandomSampleDescriptor_t desc) {
  return destroy_operator(Function::random_sample, desc);
}
