// Running a gemm problem on a device through the C API and holding every element against its bound.
//
// Law: |Ĉ − C| ≤ γ(k+2)·|α||A||B| + 2u|β||C| + u_out·|result|, with γ(n) = nu/(1 − nu) and u the
// accumulator's unit round-off (doubled for 16-bit types on accelerators, whose matrix units may
// truncate; 2⁻¹¹ where TF32 was asked for), C from a wider reference. Small integers must be exact.
#pragma once

#include <cstdint>
#include <string>

#include "harness/gemm/gemm_problem.h"
#include "harness/rearrange/random_problems.h"
#include "infinirt.h"

namespace infini::harness {

enum class GemmValues { random, integers };

struct GemmVerdict {
  bool passed = false;
  double error_over_bound = 0;  // the largest; 0 for integers, which are compared for equality
  std::string message;          // of a failure: what differs, then the command that reproduces it
};

// Also sees that nothing outside c's elements, and nothing of a and b, changed; with beta == 0 c
// holds NaN before. Products that are large are looked at in random places only.
GemmVerdict check(const GemmProblem& problem, GemmValues values, uint64_t seed = 1,
                  infinirtStream_t stream = nullptr);

}  // namespace infini::harness
