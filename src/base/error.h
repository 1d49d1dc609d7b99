// Errors: exceptions inside the library, one status and one sentence at its C edge.
#pragma once

#include <sstream>
#include <string>

#include "infinicore.h"
#include "infinicore/error.hpp"

namespace infini {

// One type inside and at the C++ edge; the C edge turns it into its status.
using infinicore::Error;

// Throws; the message is the parts one after another.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(infiniStatus_t status, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(status, text.str());
}

// The message names the argument, its value and what was expected of it. Parts are streamed only when
// it fails: pass values that have operator<<, not strings made of them.
template <class... Parts>
void require(bool ok, infiniStatus_t status, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(status, parts...);
}

// The name of a pointer argument is all there is to say of it.
inline void require_pointer(const void* p, const char* argument) {
  require(p != nullptr, INFINI_STATUS_NULL_POINTER, argument, " is NULL");
}

// OUT_OF_MEMORY, by an Error that was made when there was some.
[[noreturn]] void fail_out_of_memory();

const char* status_name(infiniStatus_t status);

}  // namespace infini
