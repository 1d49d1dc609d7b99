/* infiniop/ops/dequantize_awq.h: widens weights of four bits: not implemented (C99).
 *
 * For clients that link against the name: every function answers INFINI_STATUS_NOT_IMPLEMENTED. */
#ifndef INFINIOP_DEQUANTIZE_AWQ_H
#define INFINIOP_DEQUANTIZE_AWQ_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopDequantizeAWQDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateDequantizeAWQDescriptor(
    infiniopHandle_t handle, infiniopDequantizeAWQDescriptor_t* desc,
    infiniopTensorDescriptor_t out, infiniopTensorDescriptor_t qweight,
    infiniopTensorDescriptor_t scales, infiniopTensorDescriptor_t zeros);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetDequantizeAWQWorkspaceSize(infiniopDequantizeAWQDescriptor_t desc, size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopDequantizeAWQ(
    infiniopDequantizeAWQDescriptor_t desc, void* workspace, size_t workspace_size, void* out,
    const void* qweight, const void* scales, const void* zeros, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyDequantizeAWQDescriptor(infiniopDequantizeAWQDescriptor_t desc);

#endif
