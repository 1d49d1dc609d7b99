/* infiniop/ops/cast.h: y = x in another dtype, elementwise (C99).
 *
 * Any strides on all sides; dims of size 1 of a source, missing leading ones and strides of 0 are repeated. The result may
 * be one of the sources, element for element; any other shared memory is refused. No workspace is needed (0 bytes; NULL).
 * Between all of F16, BF16, F32, F64, I8 ... U64, BYTE and BOOL. To floats: rounded once to nearest even, beyond the largest to
 * infinity. From floats to integers: rounded to nearest even, saturated, NaN becomes 0. Between integers: saturated. To BOOL:
 * 0 for 0, 1 for all else (NaN too). */
#ifndef INFINIOP_CAST_H
#define INFINIOP_CAST_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopCastDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateCastDescriptor(infiniopHandle_t handle,
                                                                     infiniopCastDescriptor_t* desc,
                                                                     infiniopTensorDescriptor_t y,
                                                                     infiniopTensorDescriptor_t x);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGetCastWorkspaceSize(infiniopCastDescriptor_t desc,
                                                                     size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCast(infiniopCastDescriptor_t desc, void* workspace,
                                                     size_t workspace_size, void* y, const void* x,
                                                     void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyCastDescriptor(infiniopCastDescriptor_t desc);

#endif
