// Measuring one problem of an elementwise or row operator on the current device.
#pragma once

#include <memory>

#include "bench/copies/rearrange_bench.h"
#include "bench/measure.h"
#include "harness/operators/operator_problem.h"

namespace infini::bench {

// In turns with the best copy of as many bytes.
Row measure_operator(const std::string& name, const std::string& problem, const Options& options);

// Device memory of one operand with numbers in it; its layout's first byte comes first.
std::unique_ptr<Memory> make_operand(Device& device, const harness::OperatorProblem& problem,
                                     int operand);

}  // namespace infini::bench
