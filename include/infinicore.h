/* infinicore.h: the types, numbers and error reporting that every part of the C API shares (C99).
 *
 * Conventions of the whole API: every function returns an infiniStatus_t, strides count elements,
 * a stream is an opaque pointer (NULL = the device's default stream), and nothing ever throws,
 * prints or exits. After a failure infiniGetLastErrorString() says in words what was wrong, and what
 * the call should have made is NULL. Destroying NULL does nothing and succeeds. Destroying what other
 * threads use waits until they have done with it. A child of fork() may go on using the CPU (all that
 * was made on it, too), not an accelerator.
 */
#ifndef INFINICORE_H
#define INFINICORE_H

#include <stddef.h>
#include <stdint.h>

/* The version of these headers; infiniVersionString() has the library's. */
#define INFINI_VERSION_MAJOR 0
#define INFINI_VERSION_MINOR 2
#define INFINI_VERSION_PATCH 0
/* What is visible outside of the library. */
#if defined(_WIN32)
#define INFINI_EXPORT __declspec(dllexport)
#else
#define INFINI_EXPORT __attribute__((visibility("default")))
#endif

/* The word that clients of this ABI write for it. */
#ifndef __export
#define __export INFINI_EXPORT
#endif
/* A function of the C ABI, also where the header is read as C++. */
#ifdef __cplusplus
#define __INFINI_C extern "C"
#else
#define __INFINI_C extern
#endif
/* What every function returns. */
typedef enum {
  INFINI_STATUS_SUCCESS = 0,
  INFINI_STATUS_INTERNAL_ERROR = 1,
  INFINI_STATUS_NOT_IMPLEMENTED = 2,
  INFINI_STATUS_BAD_PARAM = 3,
  INFINI_STATUS_NULL_POINTER = 4,
  INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED = 5,
  INFINI_STATUS_DEVICE_NOT_FOUND = 6,
  INFINI_STATUS_DEVICE_NOT_INITIALIZED = 7,
  INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED = 8,
  INFINI_STATUS_BAD_TENSOR_DTYPE = 10,
  INFINI_STATUS_BAD_TENSOR_SHAPE = 11,
  INFINI_STATUS_BAD_TENSOR_STRIDES = 12,
  INFINI_STATUS_INSUFFICIENT_WORKSPACE = 13,
  INFINI_STATUS_OUT_OF_MEMORY = 14 /* of the host or of a device */
} infiniStatus_t;
/* Kinds of devices. */
typedef enum {
  INFINI_DEVICE_CPU = 0,
  INFINI_DEVICE_NVIDIA = 1,
  INFINI_DEVICE_CAMBRICON = 2,
  INFINI_DEVICE_ASCEND = 3,
  INFINI_DEVICE_METAX = 4,
  INFINI_DEVICE_MOORE = 5,
  INFINI_DEVICE_ILUVATAR = 6,
  INFINI_DEVICE_KUNLUN = 7,
  INFINI_DEVICE_HYGON = 8,
  INFINI_DEVICE_QY = 9,
  INFINI_DEVICE_ALI = 10,
  INFINI_DEVICE_TYPE_COUNT = 11
} infiniDevice_t;
/* Element types: their letter and their bits. F8 is e4m3; complex ones count both parts. */
typedef enum {
  INFINI_DTYPE_INVALID = 0,
  INFINI_DTYPE_BYTE = 1,
  INFINI_DTYPE_BOOL = 2,
  INFINI_DTYPE_I8 = 3,
  INFINI_DTYPE_I16 = 4,
  INFINI_DTYPE_I32 = 5,
  INFINI_DTYPE_I64 = 6,
  INFINI_DTYPE_U8 = 7,
  INFINI_DTYPE_U16 = 8,
  INFINI_DTYPE_U32 = 9,
  INFINI_DTYPE_U64 = 10,
  INFINI_DTYPE_F8 = 11,
  INFINI_DTYPE_F16 = 12,
  INFINI_DTYPE_F32 = 13,
  INFINI_DTYPE_F64 = 14,
  INFINI_DTYPE_C16 = 15,
  INFINI_DTYPE_C32 = 16,
  INFINI_DTYPE_C64 = 17,
  INFINI_DTYPE_C128 = 18,
  INFINI_DTYPE_BF16 = 19
} infiniDtype_t;

/* The calling thread's last failure in words: which argument, its value, what was expected.
 * Empty when nothing failed yet. Valid until the next failing call of this thread. */
__INFINI_C INFINI_EXPORT const char* infiniGetLastErrorString(void);

/* The name of a status, e.g. "INFINI_STATUS_BAD_PARAM"; never NULL. */
__INFINI_C INFINI_EXPORT const char* infiniStatusString(infiniStatus_t status);

/* Version of the library, e.g. "0.2.0". */
__INFINI_C INFINI_EXPORT const char* infiniVersionString(void);

/* How many threads one operator may use on the CPU. Starts at INFINI_NUM_THREADS, else OMP_NUM_THREADS,
 * else the number of CPUs this process may run on and is granted (cgroup quotas). Results never depend on it. count must be 1..1024; 0 goes back
 * to the default. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniSetNumThreads(int count);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniGetNumThreads(int* count);

/* Threads of the client's own, where the library would otherwise use its own on the CPU; set size to
 * sizeof(infiniExecutor_t).
 * parallel(user, count, task, context) calls task(context, index) for each index of 0 to count - 1, on any
 * threads, in any order, at the same time or one after the other, and returns when all those calls have
 * returned. Calls that it leaves out are made up for by the caller. It must not throw, and may be called by
 * several threads at a time. count is at most what infiniSetNumThreads says. */
typedef struct {
  size_t size;
  void* user;
  void (*parallel)(void* user, int count, void (*task)(void* context, int index), void* context);
} infiniExecutor_t;

/* For the whole process; NULL returns to the library's own threads. The struct is copied. What it names must
 * stay valid while an operator that began with it runs. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniSetExecutor(const infiniExecutor_t* executor);

#endif
