// infiniop/ops/{add,sub,mul,swiglu,silu,gelu,relu,sigmoid,cast}.h.
#include "capi/operators.h"

using namespace infini;

namespace {

template <class... Sources>
infiniStatus_t create(Function function, infiniopHandle_t handle, InfiniopDescriptor** desc,
                      infiniopTensorDescriptor_t dst, Sources... sources) {
  return at_boundary([&] {
    require_out(desc, "desc");
    const FunctionFacts& facts = facts_of(function);
    const infiniopTensorDescriptor_t all[] = {sources...};
    Layout layouts[sizeof...(sources)];
    const Layout* pointers[sizeof...(sources)];
    for (size_t i = 0; i < sizeof...(sources); ++i) {
      layouts[i] = layout_of(all[i], facts.names[i + 1]);
      pointers[i] = &layouts[i];
    }
    *desc =
        create_operator(handle, make_map_plan(function, layout_of(dst, facts.names[0]), pointers));
  });
}

}  // namespace

infiniStatus_t infiniopCreateAddDescriptor(infiniopHandle_t handle, infiniopAddDescriptor_t* desc,
                                           infiniopTensorDescriptor_t c,
                                           infiniopTensorDescriptor_t a,
                                           infiniopTensorDescriptor_t b) {
  return create(Function::add, handle, desc, c, a, b);
}
infiniStatus_t infiniopGetAddWorkspaceSize(infiniopAddDescriptor_t desc, size_t* size) {
  return workspace_of(Function::add, desc, size);
}
infiniStatus_t infiniopAdd(infiniopAddDescriptor_t desc, void* workspace, size_t workspace_size,
                           void* c, const void* a, const void* b, void* stream) {
  return run_operator(Function::add, desc, workspace_size, make_run(workspace, stream, {c, a, b}));
}
infiniStatus_t infiniopDestroyAddDescriptor(infiniopAddDescriptor_t desc) {
  return destroy_operator(Function::add, desc);
}

infiniStatus_t infiniopCreateSubDescriptor(infiniopHandle_t handle, infiniopSubDescriptor_t* desc,
                                           infiniopTensorDescriptor_t c,
                                           infiniopTensorDescriptor_t a,
                                           infiniopTensorDescriptor_t b) {
  return create(Function::sub, handle, desc, c, a, b);
}
infiniStatus_t infiniopGetSubWorkspaceSize(infiniopSubDescriptor_t desc, size_t* size) {
  return workspace_of(Function::sub, desc, size);
}
infiniStatus_t infiniopSub(infiniopSubDescriptor_t desc, void* workspace, size_t workspace_size,
                           void* c, const void* a, const void* b, void* stream) {
  return run_operator(Function::sub, desc, workspace_size, make_run(workspace, stream, {c, a, b}));
}
infiniStatus_t infiniopDestroySubDescriptor(infiniopSubDescriptor_t desc) {
  return destroy_operator(Function::sub, desc);
}

infiniStatus_t infiniopCreateMulDescriptor(infiniopHandle_t handle, infiniopMulDescriptor_t* desc,
                                           infiniopTensorDescriptor_t c,
                                           infiniopTensorDescriptor_t a,
                                           infiniopTensorDescriptor_t b) {
  return create(Function::mul, handle, desc, c, a, b);
}
infiniStatus_t infiniopGetMulWorkspaceSize(infiniopMulDescriptor_t desc, size_t* size) {
  return workspace_of(Function::mul, desc, size);
}
infiniStatus_t infiniopMul(infiniopMulDescriptor_t desc, void* workspace, size_t workspace_size,
                           void* c, const void* a, const void* b, void* stream) {
  return run_operator(Function::mul, desc, workspace_size, make_run(workspace, stream, {c, a, b}));
}
infiniStatus_t infiniopDestroyMulDescriptor(infiniopMulDescriptor_t desc) {
  return destroy_operator(Function::mul, desc);
}

infiniStatus_t infiniopCreateSwiGLUDescriptor(infiniopHandle_t handle,
                                              infiniopSwiGLUDescriptor_t* desc,
                                              infiniopTensorDescriptor_t c,
                                              infiniopTensorDescriptor_t a,
                                              infiniopTensorDescriptor_t b) {
  return create(Function::swiglu, handle, desc, c, a, b);
}
infiniStatus_t infiniopGetSwiGLUWorkspaceSize(infiniopSwiGLUDescriptor_t desc, size_t* size) {
  return workspace_of(Function::swiglu, desc, size);
}
infiniStatus_t infiniopSwiGLU(infiniopSwiGLUDescriptor_t desc, void* workspace,
                              size_t workspace_size, void* c, const void* a, const void* b,
                              void* stream) {
  return run_operator(Function::swiglu, desc, workspace_size,
                      make_run(workspace, stream, {c, a, b}));
}
infiniStatus_t infiniopDestroySwiGLUDescriptor(infiniopSwiGLUDescriptor_t desc) {
  return destroy_operator(Function::swiglu, desc);
}

infiniStatus_t infiniopCreateSiluDescriptor(infiniopHandle_t handle, infiniopSiluDescriptor_t* desc,
                                            infiniopTensorDescriptor_t y,
                                            infiniopTensorDescriptor_t x) {
  return create(Function::silu, handle, desc, y, x);
}
infiniStatus_t infiniopGetSiluWorkspaceSize(infiniopSiluDescriptor_t desc, size_t* size) {
  return workspace_of(Function::silu, desc, size);
}
infiniStatus_t infiniopSilu(infiniopSiluDescriptor_t desc, void* workspace, size_t workspace_size,
                            void* y, const void* x, void* stream) {
  return run_operator(Function::silu, desc, workspace_size, make_run(workspace, stream, {y, x}));
}
infiniStatus_t infiniopDestroySiluDescriptor(infiniopSiluDescriptor_t desc) {
  return destroy_operator(Function::silu, desc);
}

infiniStatus_t infiniopCreateGeluDescriptor(infiniopHandle_t handle, infiniopGeluDescriptor_t* desc,
                                            infiniopTensorDescriptor_t y,
                                            infiniopTensorDescriptor_t x) {
  return create(Function::gelu, handle, desc, y, x);
}
infiniStatus_t infiniopGetGeluWorkspaceSize(infiniopGeluDescriptor_t desc, size_t* size) {
  return workspace_of(Function::gelu, desc, size);
}
infiniStatus_t infiniopGelu(infiniopGeluDescriptor_t desc, void* workspace, size_t workspace_size,
                            void* y, const void* x, void* stream) {
  return run_operator(Function::gelu, desc, workspace_size, make_run(workspace, stream, {y, x}));
}
infiniStatus_t infiniopDestroyGeluDescriptor(infiniopGeluDescriptor_t desc) {
  return destroy_operator(Function::gelu, desc);
}

infiniStatus_t infiniopCreateReluDescriptor(infiniopHandle_t handle, infiniopReluDescriptor_t* desc,
                                            infiniopTensorDescriptor_t y,
                                            infiniopTensorDescriptor_t x) {
  return create(Function::relu, handle, desc, y, x);
}
infiniStatus_t infiniopGetReluWorkspaceSize(infiniopReluDescriptor_t desc, size_t* size) {
  return workspace_of(Function::relu, desc, size);
}
infiniStatus_t infiniopRelu(infiniopReluDescriptor_t desc, void* workspace, size_t workspace_size,
                            void* y, const void* x, void* stream) {
  return run_operator(Function::relu, desc, workspace_size, make_run(workspace, stream, {y, x}));
}
infiniStatus_t infiniopDestroyReluDescriptor(infiniopReluDescriptor_t desc) {
  return destroy_operator(Function::relu, desc);
}

infiniStatus_t infiniopCreateSigmoidDescriptor(infiniopHandle_t handle,
                                               infiniopSigmoidDescriptor_t* desc,
                                               infiniopTensorDescriptor_t y,
                                               infiniopTensorDescriptor_t x) {
  return create(Function::sigmoid, handle, desc, y, x);
}
infiniStatus_t infiniopGetSigmoidWorkspaceSize(infiniopSigmoidDescriptor_t desc, size_t* size) {
  return workspace_of(Function::sigmoid, desc, size);
}
infiniStatus_t infiniopSigmoid(infiniopSigmoidDescriptor_t desc, void* workspace,
                               size_t workspace_size, void* y, const void* x, void* stream) {
  return run_operator(Function::sigmoid, desc, workspace_size, make_run(workspace, stream, {y, x}));
}
infiniStatus_t infiniopDestroySigmoidDescriptor(infiniopSigmoidDescriptor_t desc) {
  return destroy_operator(Function::sigmoid, desc);
}

infiniStatus_t infiniopCreateCastDescriptor(infiniopHandle_t handle, infiniopCastDescriptor_t* desc,
                                            infiniopTensorDescriptor_t y,
                                            infiniopTensorDescriptor_t x) {
  return create(Function::cast, handle, desc, y, x);
}
infiniStatus_t infiniopGetCastWorkspaceSize(infiniopCastDescriptor_t desc, size_t* size) {
  return workspace_of(Function::cast, desc, size);
}
infiniStatus_t infiniopCast(infiniopCastDescriptor_t desc, void* workspace, size_t workspace_size,
                            void* y, const void* x, void* stream) {
  return run_operator(Function::cast, desc, workspace_size, make_run(workspace, stream, {y, x}));
}
infiniStatus_t infiniopDestroyCastDescriptor(infiniopCastDescriptor_t desc) {
  return destroy_operator(Function::cast, desc);
}
