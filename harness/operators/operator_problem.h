// A problem of an elementwise or row operator and its text form.
//
//   add f32 64x128 b_shape=1x128 c=256,2                 c's strides in elements; b is repeated along the first dim
//   rmsnorm bf16 8192x4096 w_dtype=f32 epsilon=1e-5
//   rope f16 7x4x64 algo=neox pos_ids_dtype=i32 in_place=x
//   random_sample f16 128000 topk=50 topp=0.8 temperature=0.7 random_val=0.3
//   convert f32 3x480x640 x_dtype=u8 x=1,1920,3 along=0  scale and shift differ along dim 0 of y; or scale=2 shift=0.5
//
// DTYPE and SHAPE are the result's (of random_sample: the logits'); what else an operand has follows from them unless it
// is given. X is an operand's name: X=STRIDES, X_shape=, X_dtype=, X_at=BYTES past an aligned address.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "infiniop.h"
#include "plan/operators/operator_plan.h"

namespace infini::harness {

struct OperatorProblem {
  Function function = Function::add;
  Layout operands[max_operands];
  int64_t at[max_operands] = {};  // bytes of misalignment of the base pointers
  OperatorOptions options;
  infiniopSampleOptions_t sample{0.5f, 0.9f, 50, 1.0f};  // of every row
  Conversion conversion;                                 // of convert
  int along = -1;    // of convert: the dim of y that scale and shift go along; -1: two numbers
  int in_place = 0;  // this operand is the result's memory, too; 0: none
};

// Whether the text begins with the name of such an operator.
bool is_operator(std::string_view text);
// Throws BAD_PARAM (what is wrong with the text) or what make_layout throws.
OperatorProblem parse_operator(std::string_view text);
std::string to_text(const OperatorProblem& problem);
// Of the operator of this name: "b", "b_shape", ...; none for what is none.
std::vector<std::string> operator_keys(std::string_view name);
// "rms_norm DTYPE SHAPE [KEY=…]": for people.
std::string operator_form(const FunctionFacts& facts);

// Operands that DTYPE, strides and shapes are said of; those behind them follow from the options.
int told_operands(Function function);

// Of convert: scale and shift are tensors along this dim of y; -1: two numbers.
void set_along(OperatorProblem& problem, int along);

// As the text "NAME DTYPE SHAPE" means it: everything contiguous.
OperatorProblem usual_problem(Function function, infiniDtype_t dtype,
                              const std::vector<size_t>& shape);
OperatorPlan make_plan(const OperatorProblem& problem);
// What has to move: every operand once.
int64_t compulsory_bytes(const OperatorProblem& problem);

}  // namespace infini::harness
