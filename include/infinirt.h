/* infinirt.h: devices, streams, events, memory and recorded work (C99).
 *
 * The current device is a property of the calling thread (it starts as CPU 0); every function
 * without a device argument acts on it. All functions may be called from any thread. A stream, an
 * event or memory belongs to the device that was current when it was made.
 *
 * CPU: streams are synchronous. Work submitted to a CPU stream is complete when the call returns,
 * so events complete when they are recorded; only a stream that is being captured holds work back.
 */
#ifndef INFINIRT_H
#define INFINIRT_H

#include "infinicore.h"
/* Opaque; NULL as a stream is the device's default one. */
typedef void* infinirtStream_t;
typedef void* infinirtEvent_t;
typedef void* infinirtGraph_t;
typedef void* infinirtGraphNode_t;
typedef void* infinirtGraphExec_t;
/* From where to where: host (H) and device (D). */
typedef enum {
  INFINIRT_MEMCPY_H2H = 0,
  INFINIRT_MEMCPY_H2D = 1,
  INFINIRT_MEMCPY_D2H = 2,
  INFINIRT_MEMCPY_D2D = 3
} infinirtMemcpyKind_t;
/* Whether the work before an event is done. */
typedef enum { INFINIRT_EVENT_COMPLETE = 0, INFINIRT_EVENT_NOT_READY = 1 } infinirtEventStatus_t;
/* Bits for infinirtEventCreateWithFlags. */
typedef enum {
  INFINIRT_EVENT_DEFAULT = 0x0,
  INFINIRT_EVENT_DISABLE_TIMING = 0x1,
  INFINIRT_EVENT_BLOCKING_SYNC = 0x2
} infinirtEventFlags_t;
/* What other calls may do while a stream is being captured; CUDA's meanings. */
typedef enum {
  INFINIRT_STREAM_CAPTURE_MODE_GLOBAL = 0,
  INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  INFINIRT_STREAM_CAPTURE_MODE_RELAXED = 2
} infinirtStreamCaptureMode_t;

/* Bits of valid_fields and estimated_fields. */
typedef enum {
  INFINIRT_DEVICE_RESOURCE_FIELD_CAPACITY = 1,
  INFINIRT_DEVICE_RESOURCE_FIELD_COMPUTE_UTILIZATION = 2,
  INFINIRT_DEVICE_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION = 4,
  INFINIRT_DEVICE_RESOURCE_FIELD_KERNEL_TIME_RATIO = 8,
  INFINIRT_DEVICE_RESOURCE_FIELD_COMMUNICATION = 16
} infinirtDeviceResourceField_t;

/* The same bits as clients of this ABI spell them. */
typedef enum {
  INFINIRT_RESOURCE_FIELD_NONE = 0,
  INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY = 1,
  INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION = 2,
  INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION = 4,
  INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO = 8,
  INFINIRT_RESOURCE_FIELD_COMMUNICATION = 16
} infinirtResourceField_t;
/* What a device is doing; valid_fields says which numbers are known, estimated_fields which of them are guesses. */
typedef struct {
  infiniDevice_t device_type;
  int device_id;
  uint64_t valid_fields, estimated_fields;
  size_t free_bytes, total_bytes, used_bytes, reserved_bytes;
  float compute_utilization, memory_bandwidth_utilization;
  float kernel_time_ratio, communication_time_ratio;
  uint64_t communication_bytes;
} infinirtDeviceResourceSnapshot_t;

/* --- devices ----------------------------------------------------------------------------- */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtInit(void);
__INFINI_C INFINI_EXPORT infiniStatus_t
infinirtGetAllDeviceCount(int* counts /* [INFINI_DEVICE_TYPE_COUNT] */);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGetDeviceCount(infiniDevice_t device, int* count);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtSetDevice(infiniDevice_t device, int device_id);
/* Either pointer may be NULL, not both. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGetDevice(infiniDevice_t* device, int* device_id);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGetMemInfo(infiniDevice_t device, int device_id,
                                                           size_t* free_bytes, size_t* total_bytes);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGetDeviceResourceSnapshot(
    infiniDevice_t device, int device_id, infinirtDeviceResourceSnapshot_t* snapshot);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtDeviceSynchronize(void);
/* What the device is, e.g. "NVIDIA H200"; for a kind without devices the reason why. Copies at most
 * size - 1 characters and a NUL into text. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtDescribeDevice(infiniDevice_t device, int device_id,
                                                               char* text, size_t size);

/* --- streams ----------------------------------------------------------------------------- */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtStreamCreate(infinirtStream_t* stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtStreamDestroy(infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtStreamSynchronize(infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtStreamWaitEvent(infinirtStream_t stream,
                                                                infinirtEvent_t event);

/* --- events ------------------------------------------------------------------------------ */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtEventCreate(infinirtEvent_t* event);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtEventCreateWithFlags(infinirtEvent_t* event,
                                                                     uint32_t flags);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtEventRecord(infinirtEvent_t event,
                                                            infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtEventQuery(infinirtEvent_t event,
                                                           infinirtEventStatus_t* status);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtEventSynchronize(infinirtEvent_t event);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtEventDestroy(infinirtEvent_t event);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtEventElapsedTime(float* milliseconds,
                                                                 infinirtEvent_t start,
                                                                 infinirtEvent_t end);

/* --- memory: a size of 0 succeeds; a NULL pointer may be freed ------------------------------ */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtMalloc(void** p, size_t size);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtMallocHost(void** p, size_t size);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtFree(void* p);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtFreeHost(void* p);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtMallocAsync(void** p, size_t size,
                                                            infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtFreeAsync(void* p, infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtMemcpy(void* dst, const void* src, size_t size,
                                                       infinirtMemcpyKind_t kind);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtMemcpyAsync(void* dst, const void* src, size_t size,
                                                            infinirtMemcpyKind_t kind,
                                                            infinirtStream_t stream);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtMemset(void* p, int value, size_t count);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtMemsetAsync(void* p, int value, size_t count,
                                                            infinirtStream_t stream);

/* --- recorded work ----------------------------------------------------------------------- */
__INFINI_C INFINI_EXPORT infiniStatus_t
infinirtStreamBeginCapture(infinirtStream_t stream, infinirtStreamCaptureMode_t mode);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtStreamEndCapture(infinirtStream_t stream,
                                                                 infinirtGraph_t* graph);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGraphDestroy(infinirtGraph_t graph);
/* node (may be NULL) and log (may be NULL, log_size 0) receive details of a failure. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGraphInstantiate(infinirtGraphExec_t* exec,
                                                                 infinirtGraph_t graph,
                                                                 infinirtGraphNode_t* node,
                                                                 char* log, size_t log_size);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGraphExecDestroy(infinirtGraphExec_t exec);
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGraphLaunch(infinirtGraphExec_t exec,
                                                            infinirtStream_t stream);
/* The spelling that existing clients link against; the same function. */
__INFINI_C INFINI_EXPORT infiniStatus_t infinirtGraphLuanch(infinirtGraphExec_t exec,
                                                            infinirtStream_t stream);

#endif
