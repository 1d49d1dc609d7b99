// Naive references of all operators, in double, with the bounds that results are held to.
//
// A bound counts roundings of the arithmetic's own type: one for each operation between the operands and the result, more
// where an argument's rounding is magnified (exp by its argument, erfc by twice its square). Sums of n terms are
// added up at most 80 + n / 256 deep.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "harness/operators/operator_table.h"

namespace infini::harness {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Elementwise: one row for each function, in the order of the table. An exponential counts for 4.
struct Elementwise {
  Function function;
  double (*value)(double a, double b);
  double (*roundings)(double a, double b);  // times the result
};

constexpr Elementwise elementwise[] = {
    {Function::add, [](double a, double b) { return a + b; }, [](double, double) { return 1.0; }},
    {Function::sub, [](double a, double b) { return a - b; }, [](double, double) { return 1.0; }},
    {Function::mul, [](double a, double b) { return a * b; }, [](double, double) { return 1.0; }},
    {Function::div, [](double a, double b) { return a / b; }, [](double, double) { return 1.0; }},
    {Function::swiglu, [](double a, double b) { return a * b * logistic(b); },
     [](double, double) { return 9.0; }},
    {Function::silu, [](double a, double) { return a * logistic(a); },
     [](double, double) { return 8.0; }},
    {Function::gelu, [](double a, double) { return 0.5 * a * std::erfc(-a / std::sqrt(2.0)); },
     [](double a, double) { return 8 + 3 * a * a; }},
    {Function::relu, [](double a, double) { return a < 0 ? 0 : a; },
     [](double, double) { return 0.0; }},
    {Function::sigmoid, [](double a, double) { return logistic(a); },
     [](double, double) { return 7.0; }},
};

const Elementwise& row_of(Function function) {
  const auto found = std::find_if(std::begin(elementwise), std::end(elementwise),
                                  [&](const Elementwise& row) { return row.function == function; });
  require(found != std::end(elementwise), INFINI_STATUS_INTERNAL_ERROR, facts_of(function).name,
          " has no row in harness/operators/operator_reference.cpp");
  return *found;
}

// The number of the element of `source` that belongs to element `number` of `dst`.
int64_t broadcast(const Layout& dst, const Layout& source, int64_t number) {
  int64_t result = 0, scale = 1;
  for (int d = dst.rank; d-- > dst.rank - source.rank; number /= dst.shape[d]) {
    const int64_t extent = source.shape[d - (dst.rank - source.rank)];
    result += (extent == 1 ? 0 : number % dst.shape[d]) * scale;
    scale *= extent;
  }
  return result;
}

double cast_to(double x, infiniDtype_t dtype) {
  if (is_float_type(dtype)) return rounded_to(x, dtype);
  if (dtype == INFINI_DTYPE_BOOL) return x != 0;
  if (std::isnan(x)) return 0;
  constexpr int bits[] = {8, 8, 7, 15, 31, 63, 8, 16, 32, 64};  // from BYTE on, without the sign
  const int own = bits[static_cast<int>(dtype) - INFINI_DTYPE_BYTE];
  const bool has_sign = dtype >= INFINI_DTYPE_I8 && dtype <= INFINI_DTYPE_I64;
  const double most = std::ldexp(1.0, own);
  return std::clamp(std::nearbyint(x), has_sign ? -most : 0, own > 50 ? most : most - 1);
}

std::vector<Expected> map(const OperatorProblem& p, const Values& values) {
  const Layout& dst = p.operands[0];
  std::vector<Expected> all(static_cast<size_t>(element_count(dst)));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const auto of = [&](int operand) {
      return values[static_cast<size_t>(operand)]
                   [static_cast<size_t>(broadcast(dst, p.operands[operand], at))];
    };
    const double a = of(1), b = facts_of(p.function).operands == 3 ? of(2) : a;
    if (p.function == Function::convert) {
      const Conversion& c = p.conversion;
      const bool reads = p.along >= 0;
      all[i] = {converted_number(p, a, reads ? of(2) : c.scale, reads ? of(3) : c.shift), 0};
    } else if (p.function == Function::cast) {
      all[i] = {cast_to(a, dst.dtype), 0};
    } else if (!is_float_type(dst.dtype)) {
      all[i] = {rounded_to(row_of(p.function).value(a, b), dst.dtype), 0};
    } else {
      const Elementwise& row = row_of(p.function);
      const double value = row.value(a, b);
      all[i] = {value, row.roundings(a, b) * std::abs(value)};
    }
  }
  return all;
}

double depth_of_sum(size_t count) { return 80 + static_cast<double>(count) / 256; }

std::vector<Expected> rms_norm(const OperatorProblem& p, const Values& values) {
  const std::vector<double>&x = values[1], &w = values[2];
  std::vector<Expected> all(x.size());
  for (size_t row = 0; row < x.size(); row += w.size()) {
    long double squares = 0;  // wider than what it is held against
    for (size_t i = 0; i < w.size(); ++i)
      squares += static_cast<long double>(x[row + i]) * static_cast<long double>(x[row + i]);
    const auto sum = static_cast<double>(squares);
    const double factor =
        1 / std::sqrt(sum / static_cast<double>(w.size()) + static_cast<double>(p.options.epsilon));
    for (size_t i = 0; i < w.size(); ++i) {
      const double value = x[row + i] * factor * w[i];
      all[row + i] = {value, (depth_of_sum(w.size()) / 2 + 6) * std::abs(value)};
    }
  }
  return all;
}

std::vector<Expected> causal_softmax(const OperatorProblem& p, const Values& values) {
  const Layout& y = p.operands[0];
  const auto length = static_cast<size_t>(y.shape[y.rank - 1]),
             rows = static_cast<size_t>(y.shape[y.rank - 2]);
  const std::vector<double>& x = values[1];
  std::vector<Expected> all(x.size());
  for (size_t row = 0; row * length < x.size(); ++row) {
    const size_t seen = length - rows + row % rows + 1, first = row * length;
    const auto begin = x.begin() + static_cast<ptrdiff_t>(first);
    const double most = *std::max_element(begin, begin + static_cast<ptrdiff_t>(seen));
    long double total = 0;
    for (size_t i = 0; i < seen; ++i)
      total += static_cast<long double>(std::exp(x[first + i] - most));
    const auto sum = static_cast<double>(total);
    for (size_t i = 0; i < seen; ++i) {
      const double apart = x[first + i] - most, value = std::exp(apart) / sum;
      all[first + i] = {value, (depth_of_sum(seen) + 10 - 2 * apart) * value};
    }
  }
  return all;
}

std::vector<Expected> rope(const OperatorProblem& p, const Values& values) {
  const Layout &y = p.operands[0], &positions = p.operands[2];
  const auto dh = static_cast<size_t>(y.shape[y.rank - 1]), half = dh / 2,
             heads = static_cast<size_t>(y.shape[y.rank - 2]);
  std::vector<Expected> all(values[1].size());
  for (size_t head = 0; head * dh < all.size(); ++head) {
    const size_t token = head / heads % values[2].size();
    const size_t place =
        positions.rank == 1 ? token % static_cast<size_t>(positions.shape[0]) : token;
    const auto row = static_cast<size_t>(values[2][place]) * half;
    for (size_t i = 0; i < half; ++i) {
      const size_t first = head * dh + (p.options.neox ? i : 2 * i),
                   second = first + (p.options.neox ? half : 1);
      const double a = values[1][first], b = values[1][second], s = values[3][row + i],
                   c = values[4][row + i];
      all[first] = {a * c - b * s, 3 * (std::abs(a * c) + std::abs(b * s))};
      all[second] = {a * s + b * c, 3 * (std::abs(a * s) + std::abs(b * c))};
    }
  }
  return all;
}

// Tokens in descending order of their logits, equal ones as they lie.
std::vector<int64_t> sorted_tokens(const std::vector<double>& logits, size_t first, size_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return logits[first + static_cast<size_t>(a)] > logits[first + static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace

std::vector<Expected> naive_operator(const OperatorProblem& problem, const Values& values) {
  switch (problem.function) {
    case Function::rms_norm: return rms_norm(problem, values);
    case Function::causal_softmax: return causal_softmax(problem, values);
    case Function::rope: return rope(problem, values);
    default: return map(problem, values);
  }
}

bool may_be_drawn(const OperatorProblem& problem, const std::vector<double>& logits, int64_t row,
                  int64_t token) {
  const Layout& layout = problem.operands[1];
  const auto count = static_cast<size_t>(layout.shape[layout.rank - 1]),
             first = static_cast<size_t>(row) * count;
  const auto& sample = problem.sample;
  const auto order = sorted_tokens(logits, first, count);
  if (sample.random_val == 0 || sample.topp == 0 || sample.temperature == 0 || sample.topk == 1)
    return token == order[0];
  const auto logit = [&](int64_t t) { return logits[first + static_cast<size_t>(t)]; };
  const auto mass = [&](int64_t t) {
    return std::exp((logit(t) - logit(order[0])) / static_cast<double>(sample.temperature));
  };
  const size_t topk = sample.topk <= 0 ? count : std::min(count, static_cast<size_t>(sample.topk));
  double whole = 0, kept = 0, sum = 0;
  for (size_t i = 0; i < count; ++i) {
    whole += mass(order[i]);
    if (i < topk) kept += mass(order[i]);
  }
  const double wanted = static_cast<double>(sample.random_val) *
                        std::min(kept, whole * static_cast<double>(sample.topp));
  const double digits = 1e-5 * whole;
  for (size_t i = 0; i < topk; ++i) {
    const double before = sum;
    sum += mass(order[i]);
    if (order[i] == token)
      return before <= wanted + digits && (sum >= wanted - digits || i + 1 == topk);
  }
  return false;
}

}  // namespace infini::harness
