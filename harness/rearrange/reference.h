// The naive reference: what rearrange means, one element at a time.
#pragma once

#include "plan/layout/layout.h"

namespace infini::harness {

// dst[i] = src[i] for every index i, in row-major order of the shape. No validation, no cleverness.
void naive_rearrange(void* dst, const Layout& dst_layout, const void* src,
                     const Layout& src_layout);

}  // namespace infini::harness
