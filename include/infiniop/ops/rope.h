/* infiniop/ops/rope.h: rotary position embedding (C99).
 *
 * y and x: [s, h, dh] or [b, s, h, dh] with any strides, y may be x; pos_ids: [s] or [b, s] of any integer dtype; tables:
 * [rows, dh / 2] of x's dtype. Each pair (p, q) becomes (p cos - q sin, p sin + q cos), in f32 (f64 for F64) and rounded once.
 * Positions outside of the tables give NaN. No workspace is needed. */
#ifndef INFINIOP_ROPE_H
#define INFINIOP_ROPE_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"
/* Which elements of a head are pairs. */
typedef enum {
  INFINIOP_ROPE_ALGO_GPT_J = 0,    /* pairs 2i and 2i + 1 */
  INFINIOP_ROPE_ALGO_GPT_NEOX = 1, /* pairs i and i + dh / 2 */
  INFINIOP_ROPE_ALGO_COUNT = 2
} infiniopRoPEAlgo_t;

typedef struct InfiniopDescriptor* infiniopRoPEDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRoPEDescriptor(
    infiniopHandle_t handle, infiniopRoPEDescriptor_t* desc, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x, infiniopTensorDescriptor_t pos_ids,
    infiniopTensorDescriptor_t sin_table, infiniopTensorDescriptor_t cos_table,
    infiniopRoPEAlgo_t algo);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGetRoPEWorkspaceSize(infiniopRoPEDescriptor_t desc,
                                                                     size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRoPE(infiniopRoPEDescriptor_t desc, void* workspace,
                                                     size_t workspace_size, void* y, const void* x,
                                                     const void* pos_ids, const void* sin_table,
                                                     const void* cos_table, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRoPEDescriptor(infiniopRoPEDescriptor_t desc);

#endif
