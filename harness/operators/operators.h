// All operators as the harness, the tool and the conformance tests see them: a row each, Rearrange and Gemm among them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/rearrange/random_problems.h"
#include "infinirt.h"

namespace infini::harness {

struct AnyVerdict {
  bool passed = false;
  double error_over_bound = 0;  // 0 for what must be exact
  std::string message;
};

struct OperatorRow {
  std::string name, about, form;
  std::vector<std::string> keys;  // of its problem text
  // Throws for a text that is none of its problems.
  std::function<void(const std::string& text)> parse;
  // A problem may be run with more than one kind of values.
  std::function<std::vector<AnyVerdict>(const std::string& text, uint64_t seed,
                                        infinirtStream_t stream)>
      check;
  std::function<std::string(Random&, bool large)> random;
  // Of the size that is worth measuring: about so many megabytes.
  std::function<std::string(Random&, int64_t megabytes)> measured;
  std::function<std::vector<std::string>()> curated;
};

// Rearrange, Gemm, then those of plan/operators/functions.h in their order.
const std::vector<OperatorRow>& operators();
// Null when there is none of this name.
const OperatorRow* find_operator(std::string_view name);
std::vector<std::string> operator_names();
// The one that this text is a problem of; throws BAD_PARAM.
const OperatorRow& operator_of(std::string_view text);

}  // namespace infini::harness
