/* infiniop/tensor_descriptor.h: dtype, shape and strides of a tensor (C99).
 * Threads: a tensor descriptor is immutable. Operators copy what they need of it when they are
 * created, so it may be destroyed before they run. */
#ifndef INFINIOP_TENSOR_DESCRIPTOR_H
#define INFINIOP_TENSOR_DESCRIPTOR_H

#include "../infinicore.h"

struct InfiniopTensorDescriptor;
typedef struct InfiniopTensorDescriptor* infiniopTensorDescriptor_t; /* opaque */

/* At most 64 dimensions. Strides count elements and may be negative or (to read) zero; NULL means
 * row-major contiguous. With ndim 0 (one element) shape and strides may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc, size_t ndim, const size_t* shape,
                               const ptrdiff_t* strides, infiniDtype_t dtype);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc);

/* What a descriptor was made of, for operators written outside. Strides are there, too, where the
 * descriptor was made without. shape and strides are arrays of `capacity` entries (NULL where that is
 * 0), which must be at least the rank; entries behind it are left alone. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetTensorDescriptorRank(infiniopTensorDescriptor_t desc, size_t* ndim);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetTensorDescriptorShape(infiniopTensorDescriptor_t desc, size_t* shape, size_t capacity);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopGetTensorDescriptorStrides(
    infiniopTensorDescriptor_t desc, ptrdiff_t* strides, size_t capacity);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopGetTensorDescriptorDtype(infiniopTensorDescriptor_t desc, infiniDtype_t* dtype);

#ifdef __cplusplus
/* The spelling of the design documents; a layout does not depend on the device. */
inline infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc,
                                                     infiniDevice_t, int, infiniDtype_t dtype,
                                                     size_t ndim, const size_t* shape,
                                                     const ptrdiff_t* strides) {
  return infiniopCreateTensorDescriptor(desc, ndim, shape, strides, dtype);
}
#endif

#endif
