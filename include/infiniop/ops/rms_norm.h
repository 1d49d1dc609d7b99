/* infiniop/ops/rms_norm.h: y = x * w / sqrt(mean(x^2) + epsilon) over the last dim (C99).
 *
 * y and x: [..., d] with any strides; w: [d]. x F16 or BF16 with w F16, BF16 or F32; F32 and F64 with an equal w. The mean is
 * f32 (f64 for F64). y may be x. No workspace is needed. */
#ifndef INFINIOP_RMS_NORM_H
#define INFINIOP_RMS_NORM_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopRMSNormDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRMSNormDescriptor(
    infiniopHandle_t handle, infiniopRMSNormDescriptor_t* desc, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x, infiniopTensorDescriptor_t w, float epsilon);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetRMSNormWorkspaceSize(infiniopRMSNormDescriptor_t desc, size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRMSNorm(infiniopRMSNormDescriptor_t desc,
                                                        void* workspace, size_t workspace_size,
                                                        void* y, const void* x, const void* w,
                                                        void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRMSNormDescriptor(infiniopRMSNormDescriptor_t desc);

#endif
