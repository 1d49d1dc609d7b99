// The table of operators besides Rearrange and Gemm, and the formulas of the elementwise ones. An elementwise operator is
// a name of the enum, a row of the table and a formula; every backend, the C, C++ and Python APIs, the harness and the
// tool iterate over the table. C++17: device compilers see it.
#pragma once

#include <cstdint>

namespace infini {

enum class Function : int32_t {
  // elementwise
  add,
  sub,
  mul,
  div,
  swiglu,
  silu,
  gelu,
  relu,
  sigmoid,
  cast,
  // row by row
  rms_norm,
  causal_softmax,
  rope,
  random_sample,
  // with functions and options of its own, see plan/operators/convert_plan.h
  convert,
};

constexpr int max_operands = 5;

// The element types that an operator takes.
enum class Takes { floats, numbers, anything };  // f16 … f64; integers, too; bool and byte, too

// A row of the table of operators.
struct FunctionFacts {
  const char* name;   // "add", "rms_norm"
  const char* about;  // what it computes, in half a line
  int operands;       // with the one that is written
  bool elementwise;
  Takes takes;
  const char* names[max_operands];  // of the operands, for messages and texts
};

constexpr FunctionFacts functions[] = {
    {"add", "c = a + b", 3, true, Takes::numbers, {"c", "a", "b"}},
    {"sub", "c = a - b", 3, true, Takes::numbers, {"c", "a", "b"}},
    {"mul", "c = a * b", 3, true, Takes::numbers, {"c", "a", "b"}},
    {"div", "c = a / b", 3, true, Takes::floats, {"c", "a", "b"}},
    {"swiglu", "c = a * b * sigmoid(b)", 3, true, Takes::floats, {"c", "a", "b"}},
    {"silu", "y = x * sigmoid(x)", 2, true, Takes::floats, {"y", "x"}},
    {"gelu", "y = x * normal_cdf(x)", 2, true, Takes::floats, {"y", "x"}},
    {"relu", "y = max(x, 0)", 2, true, Takes::floats, {"y", "x"}},
    {"sigmoid", "y = 1 / (1 + exp(-x))", 2, true, Takes::floats, {"y", "x"}},
    {"cast", "y = x as another type", 2, true, Takes::anything, {"y", "x"}},
    {"rms_norm", "y = x * w / sqrt(mean(x^2) + epsilon)", 3, false, Takes::floats, {"y", "x", "w"}},
    {"causal_softmax", "y = softmax(x), causal", 2, false, Takes::floats, {"y", "x"}},
    {"rope",
     "y = x rotated by position",
     5,
     false,
     Takes::floats,
     {"y", "x", "pos_ids", "sin_table", "cos_table"}},
    {"random_sample", "a token drawn from logits", 2, false, Takes::floats, {"result", "probs"}},
    {"convert",
     "y = round(scale * x + shift)",
     4,
     true,
     Takes::anything,
     {"y", "x", "scale", "shift"}},
};
constexpr int function_count = sizeof functions / sizeof functions[0];
// Those that can be made by name, in this order.
constexpr int named_count = static_cast<int>(Function::convert);

constexpr const FunctionFacts& facts_of(Function function) {
  return functions[static_cast<int>(function)];
}

// The elementwise ones stand first.
constexpr int count_elementwise() {
  int count = 0;
  while (functions[count].elementwise) ++count;
  return count;
}
constexpr int elementwise_count = count_elementwise();

template <class Math, class V>
constexpr V logistic(V x) {
  using S = typename Math::Scalar;
  return S(1) / (S(1) + Math::exp(-x));
}

// What an elementwise function computes of one element of each source; b is a where there is one. V is a number or a
// vector of them, Math has what the language lacks for it: exp, erfc and the type of a Scalar. Integers are unsigned.
template <Function f, class Math, class V>
constexpr V formula(V a, [[maybe_unused]] V b) {
  using S [[maybe_unused]] = typename Math::Scalar;
  if constexpr (f == Function::add) return a + b;
  if constexpr (f == Function::sub) return a - b;
  if constexpr (f == Function::mul) return a * b;
  if constexpr (f == Function::div) return a / b;
  if constexpr (f == Function::swiglu) return a * b * logistic<Math>(b);
  if constexpr (f == Function::silu) return a * logistic<Math>(a);
  if constexpr (f == Function::gelu) return S(0.5) * a * Math::erfc(a * S(-0.70710678118654752));
  if constexpr (f == Function::relu) return a < V{} ? V{} : a;
  if constexpr (f == Function::sigmoid) return logistic<Math>(a);
}

// The formula of a function that is known when it runs, of those with so many operands.
template <class Math, int operands, int i = 0, class V>
constexpr V apply(Function function, V a, V b) {
  if constexpr (i == elementwise_count) {
    return a;
  } else if constexpr (functions[i].operands != operands || functions[i].takes == Takes::anything ||
                       (Math::integers && functions[i].takes == Takes::floats)) {
    return apply<Math, operands, i + 1>(function, a, b);
  } else {
    if (static_cast<int>(function) == i) return formula<static_cast<Function>(i), Math>(a, b);
    return apply<Math, operands, i + 1>(function, a, b);
  }
}

}  // namespace infini
