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

// The pointer through which a call gives what it makes: null until there is something, so that a client
// which looks past a failure finds nothing instead of garbage.
template <class Object>
void require_out(Object** out, const char* argument) {
  require_pointer(out, argument);
  *out = nullptr;
}

// Destroying nothing is no mistake.
template <class Destroy>
infiniStatus_t destroy_unless_null(void* object, Destroy&& destroy) noexcept {
  return at_boundary([&] {
    if (object != nullptr) destroy();
  });
}

}  // namespace infini
