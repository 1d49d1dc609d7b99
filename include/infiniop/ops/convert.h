/* infiniop/ops/convert.h: y = round(scale * x + shift) in another format, while moving (C99).
 *
 * A Rearrange with a cast in it: any strides on all sides, transposes too; dims of size 1 of x, missing leading ones and strides
 * of 0 are repeated. Between all of U8 (BYTE), I8, U16, I16, I32, U32, F8, F16, BF16, F32 and F64; no workspace is needed (0 bytes; NULL).
 * Without scale and shift every number is rounded once, to nearest even. With them scale * x + shift is one fused multiply-add,
 * in F64 where x or y is F64, I32 or U32 and in F32 elsewhere, and then rounded to y, to nearest even.
 * To integers: saturated, NaN becomes 0. To floats: NaN stays NaN; beyond the largest finite number infinity, or NaN where the
 * format has no infinity (F8 e4m3); with INFINIOP_CONVERT_SATURATE that largest number, of infinite x too.
 * F8 is one dtype of the ABI; which of the two formats it is stands in the flags: e4m3 (1 sign, 4 exponent, 3 mantissa bits, no
 * infinity, up to 448) unless they say e5m2 (up to 57344).
 * y may be x, element for element, where both have the same size and layout; any other shared memory is refused.
 */
#ifndef INFINIOP_CONVERT_H
#define INFINIOP_CONVERT_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopConvertDescriptor_t;

typedef enum {
  INFINIOP_CONVERT_SATURATE = 1,
  INFINIOP_CONVERT_X_E5M2 = 2, /* F8 on this side is e5m2 */
  INFINIOP_CONVERT_Y_E5M2 = 4
} infiniopConvertFlags_t;

/* Set size to sizeof(infiniopConvertOptions_t). */
typedef struct {
  size_t size;
  uint32_t flags;      /* of infiniopConvertFlags_t */
  double scale, shift; /* where there is no tensor of them */
} infiniopConvertOptions_t;

/* scale and shift: NULL, or tensors of F32 that become y's shape by repetition and have at most one dim that is not 1, the same
 * for both. options NULL: no flags, a scale of 1 and a shift of 0. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateConvertDescriptor(
    infiniopHandle_t handle, infiniopConvertDescriptor_t* desc, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x, infiniopTensorDescriptor_t scale,
    infiniopTensorDescriptor_t shift, const infiniopConvertOptions_t* options);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetConvertWorkspaceSize(infiniopConvertDescriptor_t desc, size_t* size);
/* scale and shift are memory of the device; NULL where the descriptor was made without. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopConvert(infiniopConvertDescriptor_t desc,
                                                        void* workspace, size_t workspace_size,
                                                        void* y, const void* x, const void* scale,
                                                        const void* shift, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyConvertDescriptor(infiniopConvertDescriptor_t desc);

#endif
