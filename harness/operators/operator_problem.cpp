// The text form of operator problems.
#include "harness/operators/operator_problem.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/dtype.h"
#include "base/error.h"
#include "harness/names.h"
#include "harness/text.h"
#include "plan/operators/convert_plan.h"

namespace infini::harness {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr const char* algorithm_names[] = {"gpt_j", "neox"};

using Shape = std::vector<size_t>;

Shape shape_of(const Layout& layout) { return {layout.shape, layout.shape + layout.rank}; }

Layout contiguous(infiniDtype_t dtype, const Shape& shape) {
  return make_layout(dtype, shape.size(), shape.data(), nullptr);
}

// Of a name's keys, one each; the function's own options behind them.
std::vector<std::string> option_keys(Function function) {
  switch (function) {
    case Function::rms_norm: return {"epsilon"};
    case Function::rope: return {"algo"};
    case Function::random_sample: return {"random_val", "topp", "topk", "temperature"};
    case Function::convert: return {"scale", "shift", "along", "saturates", "x_e5m2", "y_e5m2"};
    default: return {};
  }
}

float parse_float(std::string_view text, const char* what) {
  const std::string copy(text);
  char* end = nullptr;
  const float value = std::strtof(copy.c_str(), &end);
  require(end != copy.c_str() && *end == '\0', bad, what, ": \"", text, "\" is not a number");
  return value;
}

std::string float_text(float value) {
  char digits[32];  // the shortest that reads back as this number
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// What was said of one operand.
struct Said {
  std::string_view strides, shape, dtype;
};

int operand_named(const FunctionFacts& facts, std::string_view name) {
  for (int i = 1; i < facts.operands; ++i)
    if (name == facts.names[i]) return i;
  fail(bad, "in_place is \"", name, "\"; expected an operand that ", facts.name, " reads");
}

bool take_conversion(std::string_view word, OperatorProblem& problem) {
  std::string_view value;
  Conversion& c = problem.conversion;
  const auto truth = [&](const char* what) { return parse_integer(value, what) != 0; };
  if (take_key(word, "scale", value))
    c.scale = parse_float(value, "scale");
  else if (take_key(word, "shift", value))
    c.shift = parse_float(value, "shift");
  else if (take_key(word, "along", value))
    problem.along = static_cast<int>(parse_integer(value, "along"));
  else if (take_key(word, "saturates", value))
    c.saturates = truth("saturates");
  else if (take_key(word, "y_e5m2", value))
    c.e5m2[0] = truth("y_e5m2");
  else if (take_key(word, "x_e5m2", value))
    c.e5m2[1] = truth("x_e5m2");
  else
    return false;
  return true;
}

bool take_option(std::string_view word, OperatorProblem& problem) {
  std::string_view value;
  if (problem.function == Function::convert) return take_conversion(word, problem);
  if (take_key(word, "epsilon", value))
    problem.options.epsilon = parse_float(value, "epsilon");
  else if (take_key(word, "algo", value)) {
    require(value == "neox" || value == "gpt_j", bad, "algo is \"", value,
            "\"; expected gpt_j or neox");
    problem.options.neox = value == "neox";
  } else if (take_key(word, "random_val", value))
    problem.sample.random_val = parse_float(value, "random_val");
  else if (take_key(word, "topp", value))
    problem.sample.topp = parse_float(value, "topp");
  else if (take_key(word, "topk", value))
    problem.sample.topk = static_cast<int>(parse_integer(value, "topk"));
  else if (take_key(word, "temperature", value))
    problem.sample.temperature = parse_float(value, "temperature");
  else
    return false;
  return true;
}

bool take_operand(std::string_view word, OperatorProblem& problem, Said* said) {
  const FunctionFacts& facts = facts_of(problem.function);
  std::string_view value;
  for (int i = 0; i < told_operands(problem.function); ++i) {
    const std::string name = facts.names[i];
    if (take_key(word, name, said[i].strides) || take_key(word, name + "_shape", said[i].shape) ||
        take_key(word, name + "_dtype", said[i].dtype))
      return true;
    if (!take_key(word, name + "_at", value)) continue;
    problem.at[i] = parse_misalignment(value, name + "_at");
    return true;
  }
  return false;
}

Layout said_layout(const Layout& usual, const Said& said, const char* name) {
  const infiniDtype_t dtype = said.dtype.empty() ? usual.dtype : parse_dtype(said.dtype);
  const Shape shape = said.shape.empty() ? shape_of(usual) : parse_shape(said.shape);
  if (said.strides.empty()) return contiguous(dtype, shape);
  const auto numbers = parse_integers(said.strides, ',', name);
  require(numbers.size() == shape.size(), bad, name, " has ", numbers.size(), " strides for ",
          shape.size(), " dims");
  const std::vector<ptrdiff_t> strides(numbers.begin(), numbers.end());
  return make_layout(dtype, shape.size(), shape.data(), strides.data());
}

// The operand that DTYPE and SHAPE are said of.
int main_operand(Function function) { return function == Function::random_sample ? 1 : 0; }

std::string conversion_text(const OperatorProblem& p) {
  const Conversion& c = p.conversion;
  std::string text;
  if (c.scale != 1) text += " scale=" + float_text(static_cast<float>(c.scale));
  if (c.shift != 0) text += " shift=" + float_text(static_cast<float>(c.shift));
  if (p.along >= 0) text += " along=" + std::to_string(p.along);
  if (c.saturates) text += " saturates=1";
  if (c.e5m2[0]) text += " y_e5m2=1";
  if (c.e5m2[1]) text += " x_e5m2=1";
  return text;
}

// The words in which an operand differs from what would follow from DTYPE and SHAPE.
std::string operand_text(const OperatorProblem& p, const OperatorProblem& usual, int i) {
  const Layout &layout = p.operands[i], &other = usual.operands[i];
  const std::string key = std::string(" ") + facts_of(p.function).names[i];
  std::string text;
  if (layout.dtype != other.dtype) text += key + "_dtype=" + dtype_name(layout.dtype);
  if (!same_shape(layout, other)) text += key + "_shape=" + shape_string(layout);
  if (!is_contiguous(layout) && layout.rank > 0)
    text += key + "=" + join({layout.strides, layout.strides + layout.rank}, ',');
  if (p.at[i] != 0) text += key + "_at=" + std::to_string(p.at[i]);
  return text;
}

}  // namespace

bool is_operator(std::string_view text) {
  const auto words = split_words(text);
  return !words.empty() && function_from_name(words[0]) < function_count;
}

int told_operands(Function function) {
  return function == Function::convert ? 2 : facts_of(function).operands;
}

void set_along(OperatorProblem& problem, int along) {
  const Layout& y = problem.operands[0];
  require(along >= -1 && along < y.rank, bad, "along is ", along, "; y has ", y.rank, " dims");
  problem.along = along;
  Shape shape(along < 0 ? 0 : static_cast<size_t>(y.rank), 1);
  if (along >= 0) shape[static_cast<size_t>(along)] = static_cast<size_t>(y.shape[along]);
  for (const int k : {0, 1}) {
    problem.operands[2 + k] = contiguous(INFINI_DTYPE_F32, shape);
    problem.conversion.along[k] = along >= 0;
  }
}

OperatorProblem usual_problem(Function function, infiniDtype_t dtype, const Shape& shape) {
  OperatorProblem p;
  p.function = function;
  for (int i = 0; i < facts_of(function).operands; ++i) p.operands[i] = contiguous(dtype, shape);
  const size_t last = shape.empty() ? 1 : shape.back();
  if (function == Function::convert) set_along(p, -1);
  if (function == Function::rms_norm) p.operands[2] = contiguous(dtype, {last});
  if (function == Function::random_sample)
    p.operands[0] = contiguous(INFINI_DTYPE_I64, shape.size() < 2 ? Shape{} : Shape{shape[0]});
  if (function == Function::rope) {
    require(shape.size() == 3 || shape.size() == 4, INFINI_STATUS_BAD_TENSOR_SHAPE,
            "rope rotates [s, h, dh] or [b, s, h, dh]");
    const size_t length = shape[shape.size() - 3];
    p.operands[2] = contiguous(INFINI_DTYPE_I64, {length});
    for (const int i : {3, 4})
      p.operands[i] = contiguous(dtype, {std::max<size_t>(length, 64), last / 2});
  }
  return p;
}

OperatorProblem parse_operator(std::string_view text) {
  const auto words = split_words(text);
  const int number = words.empty() ? function_count : function_from_name(words[0]);
  require(number < function_count, bad, "\"", text, "\" does not begin with an operator's name");
  const FunctionFacts& facts = functions[number];
  require(words.size() >= 3, bad, "\"", text,
          "\" is not a whole problem; expected: ", operator_form(facts));
  require_keys_once(words);
  OperatorProblem problem =
      usual_problem(static_cast<Function>(number), parse_dtype(words[1]), parse_shape(words[2]));
  Said said[max_operands];
  std::string_view in_place;
  for (size_t i = 3; i < words.size(); ++i)
    if (!take_key(words[i], "in_place", in_place) && !take_operand(words[i], problem, said) &&
        !take_option(words[i], problem))
      fail(bad, "\"", words[i], "\" is not understood",
           did_you_mean_key(words[i], operator_keys(words[0])),
           "; expected: ", operator_form(facts));
  for (int i = 0; i < told_operands(problem.function); ++i)
    problem.operands[i] = said_layout(problem.operands[i], said[i], facts.names[i]);
  if (problem.function == Function::convert) set_along(problem, problem.along);
  if (!in_place.empty()) problem.in_place = operand_named(facts, in_place);
  return problem;
}

std::string to_text(const OperatorProblem& p) {
  const FunctionFacts& facts = facts_of(p.function);
  const Layout& main = p.operands[main_operand(p.function)];
  const OperatorProblem usual = usual_problem(p.function, main.dtype, shape_of(main));
  std::string text =
      std::string(facts.name) + " " + dtype_name(main.dtype) + " " + shape_string(main);
  for (int i = 0; i < told_operands(p.function); ++i) text += operand_text(p, usual, i);
  if (p.in_place != 0) text += std::string(" in_place=") + facts.names[p.in_place];
  if (p.function == Function::rms_norm && p.options.epsilon != usual.options.epsilon)
    text += " epsilon=" + float_text(p.options.epsilon);
  if (p.function == Function::convert) text += conversion_text(p);
  if (p.function == Function::rope && p.options.neox)
    text += std::string(" algo=") + algorithm_names[1];
  if (p.function == Function::random_sample)
    text += " random_val=" + float_text(p.sample.random_val) +
            " topp=" + float_text(p.sample.topp) + " topk=" + std::to_string(p.sample.topk) +
            " temperature=" + float_text(p.sample.temperature);
  return text;
}

std::vector<std::string> operator_keys(std::string_view name) {
  const int number = function_from_name(name);
  if (number == function_count) return {};
  std::vector<std::string> keys = option_keys(static_cast<Function>(number));
  keys.emplace_back("in_place");
  for (int i = 0; i < told_operands(static_cast<Function>(number)); ++i)
    for (const char* const ending : {"", "_shape", "_dtype", "_at"})
      keys.push_back(std::string(functions[number].names[i]) + ending);
  return keys;
}

std::string operator_form(const FunctionFacts& facts) {
  std::string text = std::string(facts.name) + " DTYPE SHAPE";
  for (const auto& key : option_keys(static_cast<Function>(function_from_name(facts.name))))
    text += " [" + key + "=…]";
  return text + " [X=STRIDES] [X_shape=…] [X_dtype=…] [X_at=BYTES] [in_place=X]";
}

OperatorPlan make_plan(const OperatorProblem& problem) {
  const Layout* const numbers = problem.along < 0 ? nullptr : &problem.operands[2];
  if (problem.function == Function::convert)
    return make_convert_plan(problem.operands[0], problem.operands[1], numbers,
                             numbers == nullptr ? nullptr : &problem.operands[3],
                             problem.conversion);
  const Layout* layouts[max_operands];
  for (int i = 0; i < max_operands; ++i) layouts[i] = &problem.operands[i];
  return make_operator_plan(problem.function, layouts, problem.options);
}

int64_t compulsory_bytes(const OperatorProblem& problem) {
  int64_t bytes = 0;
  for (int i = 0; i < told_operands(problem.function); ++i) {
    // Of tables only what is looked at: not more than as many elements as the result has.
    const int64_t count =
        std::min(element_count(problem.operands[i]), problem.function == Function::random_sample
                                                         ? INT64_MAX
                                                         : element_count(problem.operands[0]));
    bytes += count * dtype_bytes(problem.operands[i].dtype);
  }
  return bytes;
}

}  // namespace infini::harness
