/* infiniop/ops/rearrange_between.h: copies between the host's memory and a device's, any strides on both sides (C99).
 *
 * As infiniopRearrange, but one side lies in the host's memory: load a weight and transpose it, store a slice. How it is
 * done follows from the layouts and the link: copies of runs or rows, a stretch of bytes that the device rearranges, a
 * kernel over pinned memory, or pieces that the host packs while earlier ones fly. At most 64 MiB of further memory.
 *
 * Threads: a descriptor is immutable; many threads may run it at once.
 */
#ifndef INFINIOP_REARRANGE_BETWEEN_H
#define INFINIOP_REARRANGE_BETWEEN_H

#include "../../infinirt.h"
#include "rearrange.h"

typedef struct InfiniopDescriptor* infiniopRearrangeBetweenDescriptor_t;

/* `handle` names the device that is not the host (on the CPU this is infiniopRearrange); kind is INFINIRT_MEMCPY_H2D (src
 * is the host's) or INFINIRT_MEMCPY_D2H (dst is). */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateRearrangeBetweenDescriptor(
    infiniopHandle_t handle, infiniopRearrangeBetweenDescriptor_t* desc,
    infiniopTensorDescriptor_t dst, infiniopTensorDescriptor_t src, infinirtMemcpyKind_t kind);
/* On a stream of the device. Pinned memory (infinirtMallocHost): the call returns at once, the host's side must stay as it
 * is until the stream has come so far. Other memory: the call returns when the host's side has been read or written. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopRearrangeBetween(
    infiniopRearrangeBetweenDescriptor_t desc, void* dst, const void* src, void* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyRearrangeBetweenDescriptor(infiniopRearrangeBetweenDescriptor_t desc);

#endif
