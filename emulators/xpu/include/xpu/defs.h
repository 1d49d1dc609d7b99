// Types, enumerations and error codes of the emulated XPU runtime (names and values of XRE).
#pragma once
#include <stddef.h>
#include <stdint.h>

#define XPU_DLL_EXPORT __attribute__((visibility("default")))

typedef void* XPUStream;
typedef void* XPUEvent;
typedef void* XPUFunc;

enum XPUMemoryKind { XPU_MEM_HBM = 0, XPU_MEM_MAIN = 0, XPU_MEM_L3 = 1 };
enum XPUMemcpyKind { XPU_DEVICE_TO_HOST = 0, XPU_HOST_TO_DEVICE = 1, XPU_DEVICE_TO_DEVICE = 2 };
enum XPUDeviceAttr {
  XPUATTR_MODEL = 4,
  XPUATTR_MEM_MAIN_CAPACITY = 5,
  XPUATTR_MEM_L3_CAPACITY = 6,
  XPUATTR_NUM_CLUSTER = 7,
};

// The functions return 0 or the *negative* of one of these.
enum XPUError {
  XPU_SUCCESS = 0,
  XPUERR_INVALID_DEVICE = 701,
  XPUERR_UNINIT = 702,
  XPUERR_NODEV = 703,
  XPUERR_NOMEM = 705,
  XPUERR_NOCPUMEM = 706,
  XPUERR_INVALID_PARAM = 707,
  XPUERR_NOXPUFUNC = 708,
  XPUERR_SIMULATOR = 711,
  XPUERR_NOSUPPORT = 712,
  XPUERR_ABNORMAL = 713,
  XPUERR_KEXCEPTION = 714,
  XPUERR_TIMEOUT = 715,
  XPUERR_BUSY = 716,
  XPUERR_USEAFCLOSE = 717,
  XPUERR_EVENTWAIT = 720,
  XPUERR_UNEXPECT = 800,
  XPUERR_DMATIMEOUT = 808,
  XPUERR_DMAABORT = 809,
  XPUERR_HOSTMEM_ALREADY_REGISTERED = 816,
};

static inline const char* xpu_strerror(int err) {
  switch (err < 0 ? -err : err) {
    case XPU_SUCCESS: return "success";
    case XPUERR_INVALID_DEVICE: return "invalid device";
    case XPUERR_UNINIT: return "runtime not initialised";
    case XPUERR_NODEV: return "no device";
    case XPUERR_NOMEM: return "out of device memory";
    case XPUERR_NOCPUMEM: return "out of host memory";
    case XPUERR_INVALID_PARAM: return "invalid parameter";
    case XPUERR_NOXPUFUNC: return "unknown kernel";
    case XPUERR_SIMULATOR: return "simulator error";
    case XPUERR_NOSUPPORT: return "not supported";
    case XPUERR_ABNORMAL: return "device is abnormal after an earlier exception";
    case XPUERR_KEXCEPTION: return "kernel exception";
    case XPUERR_TIMEOUT: return "kernel time-out";
    case XPUERR_BUSY: return "busy";
    case XPUERR_USEAFCLOSE: return "stream used after it was closed";
    case XPUERR_EVENTWAIT: return "event wait failed";
    case XPUERR_DMATIMEOUT: return "DMA time-out";
    case XPUERR_DMAABORT: return "DMA aborted: bad host or device address";
    case XPUERR_HOSTMEM_ALREADY_REGISTERED: return "host memory already registered";
    default: return "unexpected error";
  }
}
