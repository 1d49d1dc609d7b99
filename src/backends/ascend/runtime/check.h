// From CANN's codes to our errors, with CANN's own words.
#pragma once

#include "base/error.h"

namespace infini::ascend {

// An operator that will not take this source although the interface allows it (code 561103): the
// caller may try another way.
class OperatorRefused : public Error {
 public:
  using Error::Error;
};

// `call` names the failed function.
[[noreturn, gnu::cold]] void fail_with(int code, const char* call);

inline void check(int code, const char* call) {
  if (code != 0) [[unlikely]]
    fail_with(code, call);
}

}  // namespace infini::ascend
