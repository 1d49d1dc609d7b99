/* infiniop/ops/causal_softmax.h: softmax over what each row may see (C99).
 *
 * [..., s, T] with T >= s and any strides: row i sees the first T - s + i + 1 elements, the rest of it becomes 0. F16, BF16, F32
 * (max and sum in f32), F64. y may be x. No workspace is needed. */
#ifndef INFINIOP_CAUSAL_SOFTMAX_H
#define INFINIOP_CAUSAL_SOFTMAX_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopCausalSoftmaxDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateCausalSoftmaxDescriptor(
    infiniopHandle_t handle, infiniopCausalSoftmaxDescriptor_t* desc, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetCausalSoftmaxWorkspaceSize(infiniopCausalSoftmaxDescriptor_t desc, size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopCausalSoftmax(infiniopCausalSoftmaxDescriptor_t desc, void* workspace,
                      size_t workspace_size, void* y, const void* x, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyCausalSoftmaxDescriptor(infiniopCausalSoftmaxDescriptor_t desc);

#endif
