// Layouts from the fuzzer's bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/layout/layout.h"
#include "tests/fuzz/input.h"

namespace infini::fuzz {

using Extents = std::vector<size_t>;
using Strides = std::vector<ptrdiff_t>;

// Up to `room` elements in all; now and then none, or very many dims.
Extents choose_extents(Input& in, int64_t room);

// Of a tensor whose dims lie in memory in any order, with gaps and reversals and, where it is only read, repetitions: no
// two elements share a byte unless it repeats.
Strides choose_nested_strides(Input& in, const Extents& shape, int64_t element_bytes,
                              bool may_repeat);
// Any small numbers.
Strides choose_any_strides(Input& in, size_t rank);

// Whether two elements share a byte, by looking at all of them.
bool has_collisions(const Layout& layout);

}  // namespace infini::fuzz
