// Random rearrange problems: the same seed gives the same problems on every machine.
#pragma once

#include <cstdint>

#include "harness/rearrange/problem.h"

namespace infini::harness {

// splitmix64: small, seeded, and the same everywhere (std distributions are not).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // Uniform in [low, high].
  int64_t between(int64_t low, int64_t high);
  bool one_in(int64_t n) { return between(1, n) == 1; }

 private:
  uint64_t state_;
};

struct RandomShape {
  int max_rank = 12;
  int64_t max_elements = 4096;
  bool wide =
      false;  // two to five dims of any extents, about max_elements in all: what streams past caches
};

// A valid problem: gaps, reversals, permutations, broadcasts and zero extents, all element sizes,
// dims of size 1 with garbage strides, misaligned bases.
RearrangeProblem random_problem(Random& random, const RandomShape& limits = {});

// As programs have them, to be measured: about so many bytes of a dense result, from a source that is permuted,
// and now and then padded, flipped or repeated along a dim. Elements of 1, 2, 4 or 8 bytes.
RearrangeProblem random_dense_problem(Random& random, int64_t bytes);
RearrangeProblem random_dense_problem(Random& random, infiniDtype_t dtype, int64_t elements);

}  // namespace infini::harness
