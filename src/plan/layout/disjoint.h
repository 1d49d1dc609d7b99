// Do the points of a strided nest lie at different addresses, and do two nests ever meet?
#pragma once

#include <cstdint>
#include <vector>

#include "plan/layout/layout.h"

namespace infini {

enum class Disjoint { yes, no, undecided };

struct Dim {
  int64_t extent, step;
};

// The nodes that the search may visit before it answers `undecided`.
constexpr int64_t disjoint_work_limit = 1 << 16;

// Law: `no` exactly when there are two different index vectors whose addresses Σ index·step are
// closer than width. Precondition: steps >= 0 and multiples of width (as those of one tensor's
// elements are), extents >= 1, all sums inside int64_t. `undecided` when the work limit is reached;
// callers treat that as overlap. Every layout whose dims nest (each step at least the span of the
// smaller ones) is decided in one visit per dim, so only interleaved layouts can reach the limit.
Disjoint are_disjoint(const Dim* dims, int count, int64_t width);

// True when no element of x (based at 0) shares a byte with one of y (based at y_base). False means
// that this could not be shown: it is found by looking at both sides modulo a common step, which
// sees slices of one buffer and interleaved ones, not every exotic case. Steps count bytes; dims of
// one element or step 0 do not matter.
bool never_meet(const std::vector<Dim>& x, int64_t x_width, const std::vector<Dim>& y,
                int64_t y_width, int64_t y_base);

// The same for whole tensors with y's base y_base bytes behind x's. Tensors without elements never
// meet.
bool never_meet(const Layout& x, const Layout& y, int64_t y_base);
// Whether each element of the layout has memory of its own.
Disjoint are_disjoint(const Layout& layout);
// Throws BAD_TENSOR_STRIDES unless the answer is yes; `name` is the argument that has this layout.
void require_disjoint(Disjoint answer, const char* name, const Layout& layout);

}  // namespace infini
