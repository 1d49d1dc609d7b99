/* infiniop/handle.h: a handle names the device that operators are prepared for (C99).
 * Threads: a handle is immutable; many threads may use it at once. */
#ifndef INFINIOP_HANDLE_H
#define INFINIOP_HANDLE_H

#include "../infinicore.h"

/* Begins with { infiniDevice_t device; int device_id; }. */
struct InfiniopHandle;
typedef struct InfiniopHandle* infiniopHandle_t;

/* For the calling thread's current device (infinirtSetDevice). */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle);
/* For a device by name; the thread's current device stays what it is. */
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopCreateHandleForDevice(infiniopHandle_t* handle,
                                                                      infiniDevice_t device,
                                                                      int device_id);
__INFINI_C INFINI_EXPORT infiniStatus_t infiniopDestroyHandle(infiniopHandle_t handle);
/* infiniopCreateHandleForDevice by the name that clients in C++ use. */
#ifdef __cplusplus
inline infiniStatus_t infiniopCreateHandle(infiniopHandle_t* handle, infiniDevice_t device,
                                           int device_id) {
  return infiniopCreateHandleForDevice(handle, device, device_id);
}
#endif

#endif
