// The C++ edge: what leaves it is an Error, also when the host has no memory left.
#pragma once

#include <new>
#include <utility>

#include "base/error.h"

namespace infinicore::detail {

template <class Body>
decltype(auto) at_edge(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    infini::fail_out_of_memory();
  }
}

}  // namespace infinicore::detail
