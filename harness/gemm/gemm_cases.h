// Curated and random gemm problems.
#pragma once

#include <string>
#include <vector>

#include "harness/gemm/gemm_problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini::harness {

// Valid problems in text form; every backend must pass all of them.
std::vector<std::string> curated_gemm_cases();

// A valid problem: every dtype, transpositions, gaps, reversals, broadcasts, batches, empty extents,
// alpha and beta of every kind. Extents up to `most`.
GemmProblem random_gemm(Random& random, int64_t most = 70);
// The same with scales that need all the bits that they can have; for random values.
GemmProblem with_odd_scales(GemmProblem problem);

// As programs have them, to be measured: contiguous matrices, a and b transposed or not; every magnitude of each
// extent up to 4096 is as likely as any other, and one in four is a batch. At most 2^35 FLOP.
GemmProblem random_dense_gemm(Random& random);

}  // namespace infini::harness
