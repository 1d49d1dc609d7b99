// The emulated subset of the XPU runtime library (libxpurt), with the vendor's names and
// signatures. What the vendor's runtime lacks (memset, device synchronise, event timing) is lacking
// here too.
#pragma once
#include "xpu/defs.h"

extern "C" {
XPU_DLL_EXPORT int xpu_malloc(void** pdevptr, uint64_t sz, XPUMemoryKind kind = XPU_MEM_MAIN);
XPU_DLL_EXPORT int xpu_free(void* devptr);
XPU_DLL_EXPORT int xpu_host_alloc(void** p, uint64_t sz, unsigned int flags);
XPU_DLL_EXPORT int xpu_host_free(void* p);
XPU_DLL_EXPORT int xpu_host_register(void* p, uint64_t sz, unsigned int flags);
XPU_DLL_EXPORT int xpu_host_unregister(void* p);
XPU_DLL_EXPORT int xpu_memcpy(void* dst, const void* src, uint64_t sz, XPUMemcpyKind kind);
XPU_DLL_EXPORT int xpu_memcpy_async(void* dst, const void* src, uint64_t sz, XPUMemcpyKind kind,
                                    XPUStream s);
XPU_DLL_EXPORT int xpu_memcpy_peer(int dst_dev, void* dst, int src_dev, const void* src,
                                   uint64_t sz);

XPU_DLL_EXPORT int xpu_set_device(int devid);
XPU_DLL_EXPORT int xpu_current_device(int* pdevid);
XPU_DLL_EXPORT int xpu_device_count(int* p);
XPU_DLL_EXPORT int xpu_device_get_attr(uint64_t* pattr, XPUDeviceAttr attr, int devid);

XPU_DLL_EXPORT int xpu_stream_create(XPUStream* s);
XPU_DLL_EXPORT int xpu_stream_destroy(XPUStream s);
XPU_DLL_EXPORT int xpu_wait(XPUStream s = NULL);
XPU_DLL_EXPORT int xpu_event_create(XPUEvent* e);
XPU_DLL_EXPORT int xpu_event_destroy(XPUEvent e);
XPU_DLL_EXPORT int xpu_event_record(XPUEvent e, XPUStream s = NULL);
XPU_DLL_EXPORT int xpu_event_wait(XPUEvent e);
XPU_DLL_EXPORT int xpu_event_query(XPUEvent e);
XPU_DLL_EXPORT int xpu_stream_wait_event(XPUStream s, XPUEvent e);

XPU_DLL_EXPORT int xpu_launch_config(int nclusters, int ncores, XPUStream s = NULL);
XPU_DLL_EXPORT int xpu_launch_argument_set(const void* arg, size_t size, size_t offset);
XPU_DLL_EXPORT int xpu_launch_async(XPUFunc func);
}
