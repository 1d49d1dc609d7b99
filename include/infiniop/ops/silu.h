/* infiniop/ops/silu.h: y = x * sigmoid(x), elementwise (C99).
 *
 * Any strides on all sides; dims of size 1 of a source, missing leading ones and strides of 0 are repeated. The result may
 * be one of the sources, element for element; any other shared memory is refused. No workspace is needed (0 bytes; NULL). Dtypes, equal on all sides: F16, BF16, F32, F64; computed in f32
 * (f64 for F64) and rounded once. */
#ifndef INFINIOP_SILU_H
#define INFINIOP_SILU_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopSiluDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateSiluDescriptor(infiniopHandle_t handle,
                                                                     infiniopSiluDescriptor_t* desc,
                                                                     infiniopTensorDescriptor_t y,
                                                                     infiniopTensorDescriptor_t x);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGetSiluWorkspaceSize(infiniopSiluDescriptor_t desc,
                                                                     size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopSilu(infiniopSiluDescriptor_t desc, void* workspace,
                                                     size_t workspace_size, void* y, const void* x,
                                                     void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroySiluDescriptor(infiniopSiluDescriptor_t desc);

#endif
