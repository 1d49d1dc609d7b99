// Turning the runtime's negative codes into errors.
#pragma once

#include "base/error.h"
#include "xpu/runtime.h"

namespace infini::kunlun {

inline infiniStatus_t status_of(int code) {
  switch (code < 0 ? -code : code) {
    case XPUERR_INVALID_DEVICE:
    case XPUERR_NODEV: return INFINI_STATUS_DEVICE_NOT_FOUND;
    case XPUERR_UNINIT: return INFINI_STATUS_DEVICE_NOT_INITIALIZED;
    case XPUERR_INVALID_PARAM:
    case XPUERR_USEAFCLOSE: return INFINI_STATUS_BAD_PARAM;
    case XPUERR_NOMEM: return INFINI_STATUS_OUT_OF_MEMORY;
    case XPUERR_NOSUPPORT: return INFINI_STATUS_NOT_IMPLEMENTED;
    default: return INFINI_STATUS_INTERNAL_ERROR;
  }
}

// `call` names what failed; more parts may follow, e.g. its sizes.
template <class... Parts>
void check(int code, const char* call, const Parts&... parts) {
  if (code != XPU_SUCCESS) [[unlikely]]
    fail(status_of(code), call, ": ", xpu_strerror(code), " (", code, ")", parts...);
}

}  // namespace infini::kunlun
