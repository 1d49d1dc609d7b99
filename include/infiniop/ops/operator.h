/* infiniop/ops/operator.h: any elementwise or row operator by its name (C99).
 *
 * The operators that clients know have functions of their own (add.h, rms_norm.h, ...); every one that there is, also a
 * newer one, can be made here. A descriptor is the same either way: one of "add" may be run by infiniopAdd. What an
 * operator computes, its element types and what may overlap stand in its own header, or in docs/operators.md. */
#ifndef INFINIOP_OPERATOR_H
#define INFINIOP_OPERATOR_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"
#include "rope.h"

typedef struct InfiniopDescriptor* infiniopOperatorDescriptor_t;

/* What some operators need besides their operands. */
typedef struct {
  size_t size;             /* sizeof(infiniopOperatorOptions_t) */
  float epsilon;           /* rms_norm */
  infiniopRoPEAlgo_t algo; /* rope */
} infiniopOperatorOptions_t;

/* How a row of logits becomes a token, see random_sample.h. */
typedef struct {
  float random_val, topp;
  int topk;
  float temperature;
} infiniopSampleOptions_t;

/* The name of operator `number`: "add", "rms_norm", ...; NULL beyond the last. Elementwise ones come first. */
__INFINI_C INFINI_EXPORT const char* infiniopOperatorName(size_t number);
/* What it computes in half a line, and how many operands it has with the one that is written; NULL and 0 for what is no
 * operator's name. */
__INFINI_C INFINI_EXPORT const char* infiniopOperatorAbout(const char* name);
__INFINI_C INFINI_EXPORT size_t infiniopOperatorOperands(const char* name);

/* operands: `count` descriptors, that of the result first, in the order of the operator's own functions. options may be
 * NULL: epsilon 1e-6, INFINIOP_ROPE_ALGO_GPT_J. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopCreateOperatorDescriptor(infiniopHandle_t handle, infiniopOperatorDescriptor_t* desc,
                                 const char* name, const infiniopTensorDescriptor_t* operands,
                                 size_t count, const infiniopOperatorOptions_t* options);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetOperatorWorkspaceSize(infiniopOperatorDescriptor_t desc, size_t* size);
/* samples: one for each row of logits, in host memory; of random_sample alone, NULL for all others. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRunOperator(infiniopOperatorDescriptor_t desc,
                                                            void* workspace, size_t workspace_size,
                                                            void* const* operands, size_t count,
                                                            const infiniopSampleOptions_t* samples,
                                                            void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyOperatorDescriptor(infiniopOperatorDescriptor_t desc);

#endif
