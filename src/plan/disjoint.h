// Do the points of a strided nest lie at different addresses? An exact test with a work limit.
#pragma once

#include <cstdint>

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

}  // namespace infini
