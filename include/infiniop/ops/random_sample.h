/* infiniop/ops/random_sample.h: draws a token from a row of logits (C99).
 *
 * result: one element of an integer dtype that can say every token's number; probs: n logits. The first of the largest where
 * random_val, topp or temperature is 0 or topk is 1. Else the logits are sorted in descending order (equal ones as they lie) and
 * become softmax(x / temperature); of their mass the first topk are kept (all of them where topk is 0 or less), at most topp of the
 * whole; the token is the first at which the sum reaches random_val times the kept mass. NaN counts as less than everything,
 * infinite ones that are the largest share the whole mass; F64 is rounded to f32 first. random_val is within 0 to 1, topp and
 * temperature are not negative, temperature is finite. */
#ifndef INFINIOP_RANDOM_SAMPLE_H
#define INFINIOP_RANDOM_SAMPLE_H

#include "../handle.h"
#include "../operator_descriptor.h"
#include "../tensor_descriptor.h"

typedef struct InfiniopDescriptor* infiniopRandomSampleDescriptor_t;

__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRandomSampleDescriptor(
    infiniopHandle_t handle, infiniopRandomSampleDescriptor_t* desc,
    infiniopTensorDescriptor_t result, infiniopTensorDescriptor_t probs);
/* result: [batch], probs: [batch, n]; run by infiniopRandomSampleBatch. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRandomSampleBatchDescriptor(
    infiniopHandle_t handle, infiniopRandomSampleDescriptor_t* desc,
    infiniopTensorDescriptor_t result, infiniopTensorDescriptor_t probs);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetRandomSampleWorkspaceSize(infiniopRandomSampleDescriptor_t desc, size_t* size);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRandomSample(infiniopRandomSampleDescriptor_t desc,
                                                             void* workspace, size_t workspace_size,
                                                             void* result, const void* probs,
                                                             float random_val, float topp, int topk,
                                                             float temperature, void* stream);
/* The four arrays are in host memory and have batch_size elements each. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRandomSampleBatch(
    infiniopRandomSampleDescriptor_t desc, void* workspace, size_t workspace_size, void* result,
    const void* probs, const float* random_val, const float* topp, const int* topk,
    const float* temperature, int batch_size, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRandomSampleDescriptor(infiniopRandomSampleDescriptor_t desc);

#endif
