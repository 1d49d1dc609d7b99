/* infiniop/ops/rearrange_batch.h: many independent rearrangements in one call (C99).
 *
 * For work that comes in many small pieces: appending to the pages of a KV cache, loading and
 * transposing the weights of a model. Copy i moves src[i] to dst[i] as infiniopRearrange would; the
 * copies may run in any order and at the same time, so no copy may write what another reads or
 * writes. On the CPU the whole batch is one parallel region, on GPUs one launch (while a stream is
 * captured: one for every 192 copies).
 *
 * Threads: a descriptor is immutable; many threads may run it at once.
 */
#ifndef INFINIOP_REARRANGE_BATCH_H
#define INFINIOP_REARRANGE_BATCH_H

#include "rearrange.h"

typedef struct InfiniopDescriptor* infiniopRearrangeBatchDescriptor_t;

/* dst and src hold `layouts` tensor descriptors each (at least 1). With one pair of layouts every copy
 * has it, and a run may have any number of copies; with more, copy i has the layouts dst[i] and
 * src[i], and a run has exactly that many copies. dtypes may differ between pairs. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRearrangeBatchDescriptor(
    infiniopHandle_t handle, infiniopRearrangeBatchDescriptor_t* desc, size_t layouts,
    const infiniopTensorDescriptor_t* dst, const infiniopTensorDescriptor_t* src);
/* dst and src hold `count` base pointers each, read before the call returns. On GPUs one launch; where a run with layouts of
 * their own is captured, the descriptor must live as long as the graph. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopRearrangeBatch(infiniopRearrangeBatchDescriptor_t desc, size_t count, void* const* dst,
                       const void* const* src, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRearrangeBatchDescriptor(infiniopRearrangeBatchDescriptor_t desc);

#endif
