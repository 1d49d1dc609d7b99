// OpenBLAS as a peer of the CPU's gemm: opened at run time where it is installed, never linked.
#pragma once

#include <functional>
#include <string>

#include "harness/gemm_problem.h"

namespace infini::bench {

// The problem as calls of OpenBLAS on these pointers, or null: not installed, not f32 or f64, or
// strides that a BLAS cannot read. It uses our number of threads, and is told the processor where it
// would misjudge a virtual one (OPENBLAS_CORETYPE, unless set).
std::function<void()> openblas_peer(const harness::GemmProblem& problem, void* c, const void* a,
                                    const void* b);

}  // namespace infini::bench
