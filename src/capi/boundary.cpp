// Turning exceptions into statuses, without allocating: memory may be what has run out.
#include "capi/boundary.h"

#include <cstdio>
#include <new>

namespace infini {
namespace {

constinit thread_local char message[1024] = "";

infiniStatus_t remember(infiniStatus_t status, const char* text) noexcept {
  std::snprintf(message, sizeof message, "%s", text);
  return status;
}

}  // namespace

infiniStatus_t record_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return remember(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return remember(INFINI_STATUS_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return remember(INFINI_STATUS_INTERNAL_ERROR, error.what());
  } catch (...) {
    return remember(INFINI_STATUS_INTERNAL_ERROR, "an exception of unknown type");
  }
}

const char* last_error() noexcept { return message; }

}  // namespace infini
