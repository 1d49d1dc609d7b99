/* infiniop/ops/topkrouter.h: routes tokens to experts: not implemented (C99).
 *
 * For clients that link against the name: every function answers INFINI_STATUS_NOT_IMPLEMENTED. */
#ifndef INFINIOP_TOPKROUTER_H
#define INFINIOP_TOPKROUTER_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopTopkrouterDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateTopkrouterDescriptor(
    infiniopHandle_t handle, infiniopTopkrouterDescriptor_t* desc, infiniopTensorDescriptor_t x,
    infiniopTensorDescriptor_t correction_bias);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetTopkrouterWorkspaceSize(infiniopTopkrouterDescriptor_t desc, size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopTopkrouter(infiniopTopkrouterDescriptor_t desc, void* workspace, size_t workspace_size,
                   void* values, void* indices, const void* x, const void* correction_bias,
                   float routed_scaling_factor, size_t topk, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyTopkrouterDescriptor(infiniopTopkrouterDescriptor_t desc);

#endif
