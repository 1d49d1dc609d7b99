/* infiniop/ops/gemm.h: C = alpha * A * B + beta * C, batched, any strides (C99).
 *
 * Shapes [m,k] x [k,n] -> [m,n], or with a leading batch dimension that is equal on all sides or 1
 * for A or B. With beta == 0 C is never read; with alpha == 0 A and B are never read.
 * dtypes: F16, BF16, F32, F64, equal on all sides; C may be F32 for F16 and BF16 inputs. Sums are
 * f32 (f64 for F64) and are rounded once. C must not overlap itself, A or B.
 */
#ifndef INFINIOP_GEMM_H
#define INFINIOP_GEMM_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopGemmDescriptor_t;

/* Choices that a caller may make; set size to sizeof(infiniopGemmOptions_t) and the rest to 0. */
typedef struct {
  size_t size;
  int allow_tf32; /* f32 products may use TF32 (10 bits of mantissa); otherwise full f32 */
} infiniopGemmOptions_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateGemmDescriptor(infiniopHandle_t handle,
                                                                     infiniopGemmDescriptor_t* desc,
                                                                     infiniopTensorDescriptor_t c,
                                                                     infiniopTensorDescriptor_t a,
                                                                     infiniopTensorDescriptor_t b);
/* As above with options; NULL means the defaults (INFINI_ALLOW_TF32=1 in the environment allows TF32). */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateGemmDescriptorWithOptions(
    infiniopHandle_t handle, infiniopGemmDescriptor_t* desc, infiniopTensorDescriptor_t c,
    infiniopTensorDescriptor_t a, infiniopTensorDescriptor_t b,
    const infiniopGemmOptions_t* options);
/* The workspace that infiniopGemm needs: memory of the descriptor's device, 64-byte aligned, not
 * shared between runs that may overlap in time. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGetGemmWorkspaceSize(infiniopGemmDescriptor_t desc,
                                                                     size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGemm(infiniopGemmDescriptor_t desc, void* workspace,
                                                     size_t workspace_size, void* c, const void* a,
                                                     const void* b, float alpha, float beta,
                                                     void* stream);

/* alpha and beta as doubles; set size to sizeof(infiniopGemmScales_t). */
typedef struct {
  size_t size;
  double alpha, beta;
} infiniopGemmScales_t;

/* As infiniopGemm. Scales are rounded to the type of the sums: not at all for F64, to f32 for all
 * others. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGemmWithScales(
    infiniopGemmDescriptor_t desc, void* workspace, size_t workspace_size, void* c, const void* a,
    const void* b, const infiniopGemmScales_t* scales, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyGemmDescriptor(infiniopGemmDescriptor_t desc);

#endif
