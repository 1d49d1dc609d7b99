// A rearrange problem and its text form, in which every failure prints its reproducer.
//
//   rearrange f16 8x2048x32x128 dst=8388608,128,262144,1 src=8388608,4096,128,1
//   rearrange f32 512x512x512 perm=2,0,1      contiguous source, axes in this order in the result
//   rearrange f16 8x3x32x32 n c h w -> n h w c      as a pattern orders it; sizes of its axes as h=8
//   rearrange u8 7x9 dst_at=1 src_at=3        base pointers that many bytes past an aligned address
//
// dst= and src= are strides in elements; a side without one is row-major contiguous.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/layout/layout.h"

namespace infini::harness {

struct RearrangeProblem {
  Layout dst, src;
  int64_t dst_at = 0, src_at = 0;  // bytes of misalignment of the base pointers
};

// Throws BAD_PARAM (what is wrong with the text) or what make_layout throws.
RearrangeProblem parse_rearrange(std::string_view text);
std::string to_text(const RearrangeProblem& problem);

// The keys that a problem of this operator may have: "dst", "perm", ...; none for what is no operator.
std::vector<std::string> problem_keys(std::string_view op);

}  // namespace infini::harness
