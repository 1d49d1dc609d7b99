// The rows of all operators.
#include "harness/operators/operators.h"

#include "base/error.h"
#include "harness/gemm/gemm_cases.h"
#include "harness/gemm/gemm_check.h"
#include "harness/operators/operator_check.h"
#include "harness/operators/operator_table.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/check.h"
#include "harness/rearrange/padded_problems.h"
#include "harness/suggest.h"
#include "harness/text.h"

namespace infini::harness {
namespace {

OperatorRow rearrange_row() {
  return {.name = "rearrange",
          .about = "dst = src, any strides",
          .form = "rearrange DTYPE SHAPE [dst=STRIDES] [src=STRIDES] [perm=AXES]",
          .keys = problem_keys("rearrange"),
          .parse = [](const std::string& text) { parse_rearrange(text); },
          .check =
              [](const std::string& text, uint64_t seed, infinirtStream_t stream) {
                const Verdict verdict = check(parse_rearrange(text), seed, stream);
                return std::vector<AnyVerdict>{{verdict.passed, 0, verdict.message}};
              },
          .random =
              [](Random& random, bool large) {
                return to_text(random_mixed_problem(random, large ? 128 << 10 : 16,
                                                    large ? 32 << 20 : 32 << 10));
              },
          .measured =
              [](Random& random, int64_t megabytes) {
                return to_text(random_dense_problem(random, megabytes * 1'000'000));
              },
          .curated = curated_rearrange_cases};
}

OperatorRow gemm_row() {
  return {.name = "gemm",
          .about = "c = alpha a b + beta c",
          .form = "gemm DTYPE m=M n=N k=K [batch=B]",
          .keys = gemm_keys(),
          .parse = [](const std::string& text) { parse_gemm(text); },
          .check =
              [](const std::string& text, uint64_t seed, infinirtStream_t stream) {
                std::vector<AnyVerdict> all;
                for (const auto values : {GemmValues::integers, GemmValues::random}) {
                  const GemmVerdict verdict = check(parse_gemm(text), values, seed, stream);
                  all.push_back({verdict.passed, verdict.error_over_bound, verdict.message});
                }
                return all;
              },
          .random =
              [](Random& random, bool large) {
                return to_text(large ? random_gemm(random, 700) : random_gemm(random));
              },
          .measured = [](Random& random, int64_t) { return to_text(random_dense_gemm(random)); },
          .curated = curated_gemm_cases};
}

// Dense problems of about so many bytes, of the shapes that models have.
std::string measured_problem(Function function, Random& random, int64_t megabytes) {
  if (function == Function::convert)
    return to_text(random_dense_convert(random, 2 * megabytes * 1'000'000));
  const auto dtype = random.one_in(3) ? INFINI_DTYPE_F32 : INFINI_DTYPE_BF16;
  const int64_t elements = std::max<int64_t>(4096, megabytes * 1'000'000 / 8);
  auto length = static_cast<size_t>(int64_t{1} << random.between(7, 13));
  const auto rows = std::max<size_t>(1, static_cast<size_t>(elements) / length);
  std::vector<size_t> shape{rows, length};
  if (function == Function::rope)
    shape = {std::max<size_t>(1, static_cast<size_t>(elements) / 4096), 32, 128};
  if (function == Function::causal_softmax) shape = {rows, 1, length};
  if (function == Function::random_sample)
    shape = {static_cast<size_t>(random.between(1000, 200000))};
  return to_text(usual_problem(function, dtype, shape));
}

OperatorRow row_of(Function function) {
  const FunctionFacts& facts = facts_of(function);
  return {.name = facts.name,
          .about = facts.about,
          .form = operator_form(facts),
          .keys = operator_keys(facts.name),
          .parse = [](const std::string& text) { make_plan(parse_operator(text)); },
          .check =
              [](const std::string& text, uint64_t seed, infinirtStream_t stream) {
                const OperatorVerdict verdict = check(parse_operator(text), seed, stream);
                return std::vector<AnyVerdict>{
                    {verdict.passed, verdict.error_over_bound, verdict.message}};
              },
          .random =
              [function](Random& random, bool large) {
                return to_text(random_operator_problem(random, function, large ? 300'000 : 3000));
              },
          .measured =
              [function](Random& random, int64_t megabytes) {
                return measured_problem(function, random, megabytes);
              },
          .curated = [function] { return curated_operator_cases(function); }};
}

}  // namespace

const std::vector<OperatorRow>& operators() {
  static const std::vector<OperatorRow> all = [] {
    std::vector<OperatorRow> rows{rearrange_row(), gemm_row()};
    for (int i = 0; i < function_count; ++i) rows.push_back(row_of(static_cast<Function>(i)));
    return rows;
  }();
  return all;
}

const OperatorRow* find_operator(std::string_view name) {
  const int number = function_from_name(name);  // also without underscores
  for (const OperatorRow& row : operators())
    if (row.name == name || (number < function_count && row.name == functions[number].name))
      return &row;
  return nullptr;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const OperatorRow& row : operators()) names.push_back(row.name);
  return names;
}

const OperatorRow& operator_of(std::string_view text) {
  const auto words = split_words(text);
  const OperatorRow* const row = words.empty() ? nullptr : find_operator(words[0]);
  if (row != nullptr) return *row;
  fail(INFINI_STATUS_BAD_PARAM, "\"", text, "\" is not a problem",
       did_you_mean(words.empty() ? "" : words[0], operator_names()),
       "; those begin with rearrange or gemm or another operator's name, as in \"rearrange f32 2x3 "
       "perm=1,0\" or \"gemm f32 m=2 n=3 k=4\"");
}

}  // namespace infini::harness
