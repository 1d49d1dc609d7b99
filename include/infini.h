/* infini.h: the whole C API, names for its numbers, and one-call functions for those who need no descriptors (C99).
 *
 * The one-call functions prepare their operator anew each time, which costs some microseconds; what runs often is
 * prepared once by a descriptor (infiniop.h). `handle` names the device, NULL means the calling thread's current one
 * (CPU 0 until infinirtSetDevice). Pointers are memory of that device; the work is put on `stream` (NULL: the device's
 * default stream; the CPU has done it when the call returns).
 */
#ifndef INFINI_H
#define INFINI_H

#include "infinicore.h"
#include "infiniop.h"
#include "infinirt.h"

/* "f32", "bf16", ...; "invalid" for what is no type. Never NULL. */
__INFINI_C INFINI_EXPORT const char* infiniDtypeName(infiniDtype_t dtype);
/* Bytes of one element; 0 for what is no type. */
__INFINI_C INFINI_EXPORT size_t infiniDtypeSize(infiniDtype_t dtype);
/* By the name above or by NumPy's: "f32", "float32", "float". On failure *dtype is INFINI_DTYPE_INVALID. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniDtypeFromName(const char* name, infiniDtype_t* dtype);

/* "cpu", "nvidia", ...; "unknown" for what is no kind of device. Never NULL. */
__INFINI_C INFINI_EXPORT const char* infiniDeviceName(infiniDevice_t device);
/* By the name above. A platform's name ("cuda", "gpu", "npu") is refused, and the message says whose it is. On failure
 * *device is INFINI_DEVICE_TYPE_COUNT. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniDeviceFromName(const char* name,
                                                             infiniDevice_t* device);

/* dst[i] = src[i] for every index i of `shape`: transpose, permute, slice, flip, broadcast. Strides count elements; NULL
 * means row-major. What holds for overlaps is in infiniop/ops/rearrange.h. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniCopy(infiniopHandle_t handle, void* dst,
                                                   const ptrdiff_t* dst_strides, const void* src,
                                                   const ptrdiff_t* src_strides, size_t ndim,
                                                   const size_t* shape, infiniDtype_t dtype,
                                                   void* stream);
/* Dim i of dst is dim axes[i] of src, whose shape is `shape`; both are row-major. axes NULL: all dims in reverse. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniTranspose(infiniopHandle_t handle, void* dst,
                                                        const void* src, size_t ndim,
                                                        const size_t* shape, const size_t* axes,
                                                        infiniDtype_t dtype, void* stream);
/* c = alpha * a * b + beta * c with a [m, k], b [k, n] and c [m, n] of one dtype (F16, BF16, F32, F64). Strides are two
 * numbers each, rows then columns; NULL means row-major. With beta 0 c is not read. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniMatmul(infiniopHandle_t handle, void* c,
                                                     const ptrdiff_t* c_strides, const void* a,
                                                     const ptrdiff_t* a_strides, const void* b,
                                                     const ptrdiff_t* b_strides, size_t m, size_t n,
                                                     size_t k, infiniDtype_t dtype, double alpha,
                                                     double beta, void* stream);

/* How a plan is told. */
typedef enum {
  INFINI_EXPLAIN_TEXT = 0, /* for people: what `infini plan` prints */
  INFINI_EXPLAIN_JSON = 1  /* for programs: one object */
} infiniExplainFormat_t;

/* What a descriptor will do (of any operator but batches, pages and transfers): axes and steps, what is read and written,
 * the kernel that was chosen, the time it expects, what the other candidates would take, and why some cannot. Writes at most `capacity` bytes with a NUL at the end; what
 * does not fit is left out. *needed (where not NULL) is the capacity that holds all of it. buffer may be NULL where
 * capacity is 0. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniExplain(const struct InfiniopDescriptor* desc,
                                                      infiniExplainFormat_t format, char* buffer,
                                                      size_t capacity, size_t* needed);

#endif
