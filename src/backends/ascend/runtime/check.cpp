// From CANN's codes to our errors.
#include "backends/ascend/runtime/check.h"

#include <acl/acl.h>

namespace infini::ascend {
namespace {

constexpr int refused_code = 561103;

infiniStatus_t status_of(int code) {
  switch (code) {
    case 100001:
    case 107002: return INFINI_STATUS_DEVICE_NOT_INITIALIZED;
    case 107001: return INFINI_STATUS_DEVICE_NOT_FOUND;
    case 100000:
    case 107000:
    case 107003:
    case 107006:
    case 107007:
    case 107017: return INFINI_STATUS_BAD_PARAM;
    case 200000:
    case 207001:
    case 207018: return INFINI_STATUS_OUT_OF_MEMORY;
    case 207000: return INFINI_STATUS_NOT_IMPLEMENTED;
    default: return INFINI_STATUS_INTERNAL_ERROR;
  }
}

}  // namespace

void fail_with(int code, const char* call) {
  const char* words = aclGetRecentErrMsg();  // also clears it
  std::ostringstream text;
  text << call << " failed with CANN error " << code;
  if (words != nullptr) text << ": " << words;
  if (code == refused_code) throw OperatorRefused(INFINI_STATUS_INTERNAL_ERROR, text.str());
  throw Error(status_of(code), text.str());
}

}  // namespace infini::ascend
