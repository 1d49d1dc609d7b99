// The harness's side of the table of operators: for each one a generator of random problems, the values that its operands
// hold, a naive reference in double and the bound that every element is held to.
#pragma once

#include <string>
#include <vector>

#include "harness/operators/operator_problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini::harness {

// Operands as doubles, each in the order of its own indices.
using Values = std::vector<std::vector<double>>;

// What an element of the result should be, and how far from it it may be before it is rounded to its type: in units of
// the arithmetic's round-off (2^-24; 2^-53 for f64).
struct Expected {
  double value = 0, slack = 0;
};

// Every element of the result; the first vector of `values` is not looked at.
std::vector<Expected> naive_operator(const OperatorProblem& problem, const Values& values);
// Whether a token could have been drawn from row `row` of the logits: sums in any order may differ in their last digits.
bool may_be_drawn(const OperatorProblem& problem, const std::vector<double>& logits, int64_t row,
                  int64_t token);

// A value for an element of an operand.
double random_value(Random& random, const OperatorProblem& problem, int operand);
// A valid problem: every dtype, gaps, permutations, reversals, repeats, in place. About `most` elements at most.
OperatorProblem random_operator_problem(Random& random, Function function, int64_t most = 3000);
// A conversion as programs have them, to be measured: of layouts as random_dense_problem has them, between any two formats.
// So many bytes are read and written together.
OperatorProblem random_dense_convert(Random& random, int64_t bytes);
// Shapes and strides that have broken implementations before, and those that models have.
std::vector<std::string> curated_operator_cases(Function function);

// A value as it is kept in an element of this type: rounded to nearest even, saturated; integers wrap around.
double rounded_to(double value, infiniDtype_t dtype);
double read_number(infiniDtype_t dtype, const char* place);
void write_number(infiniDtype_t dtype, char* place, double value);
bool is_float_type(infiniDtype_t dtype);
// An element of an operand: read_number and write_number but for what only conversions have.
double read_element(const OperatorProblem& problem, int operand, const char* place);
void write_element(const OperatorProblem& problem, int operand, char* place, double value);

// Convert: what an element may hold, and the number that x becomes.
double random_for_convert(Random& random, const OperatorProblem& problem, int operand);
double converted_number(const OperatorProblem& problem, double x, double scale, double shift);

}  // namespace infini::harness
