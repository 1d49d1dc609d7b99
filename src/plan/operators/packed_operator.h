// Operands of an operator brought into dense memory: what a device needs that moves whole rows only.
//
// A packed operand lies in the workspace, row after row in the order of the plan's loops (rope: the first elements of a head's
// pairs, then the second ones). Copies are ordinary rearrange plans: into the workspace for what is read, out of it for what is
// written.
// Law: packing, computing the inner plan and unpacking compute what the outer plan says; the inner plan writes each element of
// its operand 0 once.
#pragma once

#include "plan/operators/operator_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {

struct PackedOperand {
  bool packed = false;
  int64_t at = 0;      // bytes from the workspace's beginning
  RearrangePlan copy;  // between the client's memory and that place, whose own base is 0
};

struct PackedOperator {
  OperatorPlan plan;  // packed operands begin at their places
  PackedOperand operands[max_operands];
  int64_t bytes = 0;  // of the workspace
};

// `which`: a bit for each operand. `expand`: dims along which a packed operand repeats itself are written out, so that
// elementwise operands become one row; else they stay repeated.
PackedOperator pack_operands(const OperatorPlan& plan, unsigned which, bool expand = false);

// Whether a row's elements lie one after another (a row of one does).
bool is_dense_row(const OperatorPlan& plan, int operand);
// Whether every row has one element of this operand: positions of rope, drawn tokens.
constexpr bool is_single(Function function, int operand) {
  return (function == Function::rope && operand == 2) ||
         (function == Function::random_sample && operand == 0);
}

}  // namespace infini
