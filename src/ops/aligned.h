// The one rule of addresses that kernels of numbers rely on: elements lie at multiples of their size.
#pragma once

#include "base/dtype.h"
#include "base/error.h"

namespace infini {

inline void require_aligned(const void* x, const char* name, infiniDtype_t dtype) {
  require(reinterpret_cast<uintptr_t>(x) % static_cast<uintptr_t>(dtype_bytes(dtype)) == 0,
          INFINI_STATUS_BAD_PARAM, name, " (", x, ") is not aligned to its elements of ",
          dtype_bytes(dtype), " bytes");
}

}  // namespace infini
