// What operators besides copies and products share: operands checked and brought into order, a function of all their elements,
// the result written through its strides.
#pragma once
#include "meta.h"
#include "value.h"

namespace cann_emulator {

using Values = std::vector<Value>;
using Dtypes = std::vector<aclDataType>;

struct Input {
  const aclTensor* handle;
  const char* argument;
  Dtypes dtypes;
  // Of the result's shape; empty: taken as it is.
  bool broadcasts = true;
  bool must_be_contiguous = false;
};
struct Output {
  const aclTensor* handle;
  const char* argument;
  Dtypes dtypes;
  bool must_be_contiguous = false;
};

// Computes the elements of every output from those of every input, each in order.
using Compute =
    std::function<void(const std::vector<Values>& inputs, std::vector<Values>& outputs)>;

// A whole first phase. Inputs that are strided or broadcast are copied into the workspace first, results of strided outputs
// lie there before they are written. Inputs may be output 0 element for element; else they must not share a byte with any output.
// `fits` says what is wrong with the shapes beyond broadcasting, or null.
using Fits = std::function<const char*(const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& outputs)>;
int map_first_phase(Call& call, const char* op, const std::vector<Input>& inputs,
                    const std::vector<Output>& outputs, const Fits& fits, Compute compute,
                    uint64_t* workspace_size, aclOpExecutor** executor);

}  // namespace cann_emulator
