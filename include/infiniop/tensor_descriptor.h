/* infiniop/tensor_descriptor.h: dtype, shape and strides of a tensor (C99).
 * Threads: a tensor descriptor is immutable. Operators copy what they need of it when they are
 * created, so it may be destroyed before they run. */
#ifndef INFINIOP_TENSOR_DESCRIPTOR_H
#define INFINIOP_TENSOR_DESCRIPTOR_H

#include "../infinicore.h"

struct InfiniopTensorDescriptor;
typedef struct InfiniopTensorDescriptor* infiniopTensorDescriptor_t;

/* At most 64 dimensions. Strides count elements and may be negative or (to read) zero; NULL means
 * row-major contiguous. With ndim 0 (one element) shape and strides may be NULL. */
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc, size_t ndim, const size_t* shape,
                               const ptrdiff_t* strides, infiniDtype_t dtype);
__INFINI_C INFINI_EXPORT infiniStatus_t
infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc);

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
