// Layouts as problem text: what `infini plan`, `check` and `bench` read, so that a line of a log can be run.
#pragma once

#include <string>

#include "plan/layout/layout.h"

namespace infini {

// "rearrange f32 3x2 src=1,3": strides in elements, left out where a side is row-major.
std::string rearrange_text(const Layout& dst, const Layout& src);
// "gemm bf16 m=64 n=96 k=128 batch=32 b=12288,1,128", for operands of rank 2 or 3.
std::string gemm_text(const Layout& c, const Layout& a, const Layout& b);

}  // namespace infini
