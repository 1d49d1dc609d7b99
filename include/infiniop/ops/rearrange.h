/* infiniop/ops/rearrange.h: copy between any two layouts of the same shape (C99).
 *
 * dst[i] = src[i] for every index i, bit for bit: transpose, permute, slice, flip, broadcast (zero
 * strides in src). dst and src have the same dtype and shape; no two elements of dst may share
 * memory. Running with dst == src and equal layouts does nothing; when the two sides overlap in any
 * other way the result is as if src had been read completely before dst was written (through
 * temporary memory: correct, not fast).
 */
#ifndef INFINIOP_REARRANGE_H
#define INFINIOP_REARRANGE_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopRearrangeDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopCreateRearrangeDescriptor(infiniopHandle_t handle, infiniopRearrangeDescriptor_t* desc,
                                  infiniopTensorDescriptor_t dst, infiniopTensorDescriptor_t src);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRearrange(infiniopRearrangeDescriptor_t desc,
                                                          void* dst, const void* src, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRearrangeDescriptor(infiniopRearrangeDescriptor_t desc);

#endif
