// Elements of conversions: what they hold, and the numbers that they become, by the formats' definition.
#include "harness/operators/convert_formats.h"
#include "harness/operators/operator_table.h"

namespace infini::harness {
namespace {

const FormatFacts& format_of_operand(const OperatorProblem& p, int operand) {
  return formats[format_of(p.operands[operand].dtype, p.conversion.e5m2[operand])];
}
bool is_converted(const OperatorProblem& p, int operand) {
  return p.function == Function::convert && operand < 2;
}

}  // namespace

double read_element(const OperatorProblem& problem, int operand, const char* place) {
  if (!is_converted(problem, operand)) return read_number(problem.operands[operand].dtype, place);
  const FormatFacts& format = format_of_operand(problem, operand);
  return number_of(format, load_code(place, format.bytes));
}

void write_element(const OperatorProblem& problem, int operand, char* place, double value) {
  if (!is_converted(problem, operand))
    return write_number(problem.operands[operand].dtype, place, value);
  const FormatFacts& format = format_of_operand(problem, operand);
  const uint64_t code = code_of(format, value, true);
  std::memcpy(place, &code, static_cast<size_t>(format.bytes));
}

// Mostly inside the range of a byte; ties, what does not fit and what is no number now and then.
double random_for_convert(Random& random, const OperatorProblem& problem, int operand) {
  constexpr double special[] = {NAN, INFINITY, 0.5, 1.5, -2.5, 1e10, -1e10, -0.0, 1e-7, 500};
  const double number = static_cast<double>(random.between(-1 << 20, 1 << 20)) / (1 << 12);
  if (operand >= 2) return static_cast<double>(static_cast<float>(number / 64));
  const FormatFacts& format = format_of_operand(problem, operand);
  const double x = random.one_in(9) ? special[random.between(0, 9)] : number;
  return number_of(format, code_of(format, x, true));
}

double converted_number(const OperatorProblem& problem, double x, double scale, double shift) {
  const FormatFacts &y = format_of_operand(problem, 0), &from = format_of_operand(problem, 1);
  return number_of(y, converted(y, from, code_of(from, x, false), computes(problem.conversion),
                                static_cast<float>(scale), static_cast<float>(shift),
                                problem.conversion.saturates));
}

}  // namespace infini::harness
