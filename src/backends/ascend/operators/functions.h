// Elementwise and row operators on Ascend, made of the vendor's calls.
#pragma once

#include <memory>

#include "backends/ascend/operators/calls.h"
#include "backends/ascend/runtime/device.h"
#include "contract/choice.h"
#include "contract/kernels.h"
#include "plan/operators/packed_operator.h"

namespace infini::ascend {

std::unique_ptr<OperatorKernel> make_operator(infini::Device& device, const OperatorPlan& plan,
                                              const Choice& choice = {});

// Why this plan is declined; empty: it is not.
std::string why_declined(const OperatorPlan& plan);

// The inner plan's operands where they lie, and what a function needs besides.
struct FunctionRun {
  const OperatorPlan& plan;
  char* const* operands;
  const SampleOptions* samples;
  Device* device;  // null in a dry run
  void* stream;
};

void run_map(Calls& calls, const FunctionRun& run);
// Is there a call of the vendor's for this elementwise function? Else:
bool has_call(Function function);
// Of one dense row, by the table's formula.
void run_host_map(const FunctionRun& run);
// Of one dense row: where the vendor's call truncates or wraps around instead of rounding and saturating.
void run_host_cast(const FunctionRun& run);
// Convert, of one dense row: no call has the formats of 8 bits, and none rounds scale·x + shift once.
void run_host_convert(const FunctionRun& run);
void run_rms_norm(Calls& calls, const FunctionRun& run);
// `mask`: a byte for each element of a matrix, 1 where its row does not see it; null where all is seen.
void run_softmax(Calls& calls, const FunctionRun& run, char* mask);
// Waits for the stream: positions are looked at by the host, because one outside of the tables would end the vendor's gather.
void run_rope(Calls& calls, const FunctionRun& run);
// Waits for the stream and draws on the host: the vendor's calls have no drawing by a given number. 4 bytes for each logit cross the
// link once.
void run_sample(Calls& calls, const FunctionRun& run);

}  // namespace infini::ascend
