/* infiniop/operator_descriptor.h: what all operator descriptors share (C99).
 * Threads: a descriptor is immutable; many threads may run it at once, on their own streams. */
#ifndef INFINIOP_OPERATOR_DESCRIPTOR_H
#define INFINIOP_OPERATOR_DESCRIPTOR_H

#include "../infinicore.h"
#include "handle.h"
#include "tensor_descriptor.h"

/* Begins with { infiniDevice_t device; int device_id; }. */
struct InfiniopDescriptor;
/* The device that an operator was made for. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetDescriptorDeviceType(const struct InfiniopDescriptor* desc, infiniDevice_t* device);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetDescriptorDeviceId(const struct InfiniopDescriptor* desc, int* device_id);

#endif
