// The C edge: nothing but a status and a sentence crosses it.
#pragma once

#include "base/error.h"

namespace infini {

// To be called inside a catch block: remembers the exception in words, returns its status.
infiniStatus_t record_exception() noexcept;
const char* last_error() noexcept;

template <class Body>
infiniStatus_t at_boundary(Body&& body) noexcept {
  try {
    body();
    return INFINI_STATUS_SUCCESS;
  } catch (...) {
    return record_exception();
  }
}

}  // namespace infini
