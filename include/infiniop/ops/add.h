/* infiniop/ops/add.h: c = a + b, elementwise (C99).
 *
 * Any strides on all sides; dims of size 1 of a source, missing leading ones and strides of 0 are repeated. The result may
 * be one of the sources, element for element; any other shared memory is refused. No workspace is needed (0 bytes; NULL). Dtypes, equal on all sides: F16, BF16, F32, F64; computed in f32
 * (f64 for F64) and rounded once. Integers wrap around. */
#ifndef INFINIOP_ADD_H
#define INFINIOP_ADD_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopAddDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateAddDescriptor(infiniopHandle_t handle,
                                                                    infiniopAddDescriptor_t* desc,
                                                                    infiniopTensorDescriptor_t c,
                                                                    infiniopTensorDescriptor_t a,
                                                                    infiniopTensorDescriptor_t b);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGetAddWorkspaceSize(infiniopAddDescriptor_t desc,
                                                                    size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopAdd(infiniopAddDescriptor_t desc, void* workspace,
                                                    size_t workspace_size, void* c, const void* a,
                                                    const void* b, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopDestroyAddDescriptor(infiniopAddDescriptor_t desc);

#endif
