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

/* The size of an axis of a pattern that does not follow from src's shape. */
typedef struct {
  const char* name;
  size_t size;
} infiniopAxisSize_t;

/* dst = src as a pattern orders it, in one copy: "b s (h d) -> b h s d". Parentheses split a dim on the left and join axes
 * on the right, "..." is all other dims, 1 a dim of size 1, names and numbers that are new on the right repeat. dst has the
 * shape that the pattern makes. Runs and is destroyed as any Rearrange. BAD_PARAM: the message points at the character;
 * BAD_TENSOR_SHAPE: it tells the shape that dst should have. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRearrangeFromPatternDescriptor(
    infiniopHandle_t handle, infiniopRearrangeDescriptor_t* desc, infiniopTensorDescriptor_t dst,
    infiniopTensorDescriptor_t src, const char* pattern, const infiniopAxisSize_t* sizes,
    size_t count);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRearrange(infiniopRearrangeDescriptor_t desc,
                                                          void* dst, const void* src, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRearrangeDescriptor(infiniopRearrangeDescriptor_t desc);

#endif
