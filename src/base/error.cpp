// Names of the statuses, and the error that cannot be made when it is needed.
#include "base/error.h"

namespace infini {
namespace {

// Made when the library is loaded and never destroyed. A copy of it shares the text.
const Error& out_of_memory = *new Error(INFINI_STATUS_OUT_OF_MEMORY, "out of host memory");

}  // namespace

void fail_out_of_memory() { throw Error(out_of_memory); }

const char* status_name(infiniStatus_t status) {
  switch (status) {
    case INFINI_STATUS_SUCCESS: return "INFINI_STATUS_SUCCESS";
    case INFINI_STATUS_INTERNAL_ERROR: return "INFINI_STATUS_INTERNAL_ERROR";
    case INFINI_STATUS_NOT_IMPLEMENTED: return "INFINI_STATUS_NOT_IMPLEMENTED";
    case INFINI_STATUS_BAD_PARAM: return "INFINI_STATUS_BAD_PARAM";
    case INFINI_STATUS_NULL_POINTER: return "INFINI_STATUS_NULL_POINTER";
    case INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED: return "INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED";
    case INFINI_STATUS_DEVICE_NOT_FOUND: return "INFINI_STATUS_DEVICE_NOT_FOUND";
    case INFINI_STATUS_DEVICE_NOT_INITIALIZED: return "INFINI_STATUS_DEVICE_NOT_INITIALIZED";
    case INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED:
      return "INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED";
    case INFINI_STATUS_BAD_TENSOR_DTYPE: return "INFINI_STATUS_BAD_TENSOR_DTYPE";
    case INFINI_STATUS_BAD_TENSOR_SHAPE: return "INFINI_STATUS_BAD_TENSOR_SHAPE";
    case INFINI_STATUS_BAD_TENSOR_STRIDES: return "INFINI_STATUS_BAD_TENSOR_STRIDES";
    case INFINI_STATUS_INSUFFICIENT_WORKSPACE: return "INFINI_STATUS_INSUFFICIENT_WORKSPACE";
    case INFINI_STATUS_OUT_OF_MEMORY: return "INFINI_STATUS_OUT_OF_MEMORY";
  }
  return "unknown status";
}

}  // namespace infini
