// Running an operator's problem on a device through the C API and holding every element against its bound.
//
// Law: |ŷ − y| ≤ u_out·|y| + slack·u + the least number of the type, with y from a reference in double, u the round-off
// of the arithmetic (2⁻²⁴; 2⁻⁵³ for f64) and slack counted in operator_reference.cpp. Integers and casts are exact.
#pragma once

#include "harness/operators/operator_problem.h"
#include "infinirt.h"

namespace infini::harness {

struct OperatorVerdict {
  bool passed = false;
  double error_over_bound = 0;  // the largest; 0 for what is exact
  std::string message;          // of a failure: what differs, then the command that reproduces it
};

// Also sees that nothing outside of the result's elements, and nothing that is read, changed. The current device's.
OperatorVerdict check(const OperatorProblem& problem, uint64_t seed = 1,
                      infinirtStream_t stream = nullptr);

}  // namespace infini::harness
