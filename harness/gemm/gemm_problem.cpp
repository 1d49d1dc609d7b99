// The text form of gemm problems.
#include "harness/gemm/gemm_problem.h"

#include <charconv>
#include <cstdlib>

#include "base/dtype.h"
#include "base/error.h"
#include "harness/names.h"
#include "harness/text.h"
#include "plan/problem_text.h"

namespace infini::harness {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr const char* form =
    "; expected: gemm DTYPE m=M n=N k=K [batch=B] [a_batch=1] [b_batch=1] [out=DTYPE] "
    "[a=STRIDES|t] "
    "[b=STRIDES|t] [c=STRIDES|t] [alpha=X] [beta=X] [a_at=BYTES] [b_at=BYTES] [c_at=BYTES]";

const std::vector<std::string> keys = {"m", "n", "k",     "batch", "a_batch", "b_batch", "out", "a",
                                       "b", "c", "alpha", "beta",  "a_at",    "b_at",    "c_at"};

struct Parts {
  int64_t m = -1, n = -1, k = -1, batch = -1, a_batch = -1, b_batch = -1;
  infiniDtype_t dtype = INFINI_DTYPE_INVALID, out = INFINI_DTYPE_INVALID;
  std::string a, b, c;
};

double parse_number(std::string_view text, const char* what) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  require(end != copy.c_str() && *end == '\0', bad, what, ": \"", text, "\" is not a number");
  return value;
}

// Those of the contiguous matrix (or batch of them) whose last two dims are exchanged.
std::vector<int64_t> transposed_strides(infiniDtype_t dtype, std::vector<size_t> shape) {
  const size_t rank = shape.size();
  std::swap(shape[rank - 1], shape[rank - 2]);
  const Layout stored = make_layout(dtype, rank, shape.data(), nullptr);
  std::vector<int64_t> strides(stored.strides, stored.strides + rank);
  std::swap(strides[rank - 1], strides[rank - 2]);
  return strides;
}

Layout matrix(infiniDtype_t dtype, int64_t batch, int64_t rows, int64_t cols,
              const std::string& strides, const char* what) {
  std::vector<size_t> shape;
  if (batch >= 0) shape.push_back(static_cast<size_t>(batch));
  shape.insert(shape.end(), {static_cast<size_t>(rows), static_cast<size_t>(cols)});
  if (strides.empty()) return make_layout(dtype, shape.size(), shape.data(), nullptr);
  const auto numbers =
      strides == "t" ? transposed_strides(dtype, shape) : parse_integers(strides, ',', what);
  const std::vector<ptrdiff_t> steps(numbers.begin(), numbers.end());
  require(steps.size() == shape.size(), bad, what, " has ", steps.size(), " strides for ",
          shape.size(), " dims");
  return make_layout(dtype, shape.size(), shape.data(), steps.data());
}

bool take_number(std::string_view word, const char* key, int64_t& number) {
  std::string_view value;
  if (!take_key(word, key, value)) return false;
  number = parse_integer(value, key);
  require(number >= 0, bad, key, " is ", number, "; expected 0 or more");
  return true;
}

bool take_text(std::string_view word, const char* key, std::string& text) {
  std::string_view value;
  if (!take_key(word, key, value)) return false;
  text = value;
  return true;
}

bool take_misalignment(std::string_view word, const char* key, int64_t& bytes) {
  std::string_view value;
  if (!take_key(word, key, value)) return false;
  bytes = parse_misalignment(value, key);
  return true;
}

void parse_word(std::string_view word, Parts& parts, GemmProblem& problem) {
  std::string_view value;
  if (take_number(word, "m", parts.m) || take_number(word, "n", parts.n) ||
      take_number(word, "k", parts.k) || take_number(word, "batch", parts.batch) ||
      take_number(word, "a_batch", parts.a_batch) || take_number(word, "b_batch", parts.b_batch) ||
      take_misalignment(word, "a_at", problem.a_at) ||
      take_misalignment(word, "b_at", problem.b_at) ||
      take_misalignment(word, "c_at", problem.c_at) || take_text(word, "a", parts.a) ||
      take_text(word, "b", parts.b) || take_text(word, "c", parts.c))
    return;
  if (take_key(word, "alpha", value))
    problem.alpha = parse_number(value, "alpha");
  else if (take_key(word, "beta", value))
    problem.beta = parse_number(value, "beta");
  else if (take_key(word, "out", value))
    parts.out = parse_dtype(value);
  else
    fail(bad, "\"", word, "\" is not understood", did_you_mean_key(word, keys), form);
}

std::string number_text(const char* key, double value, double usual) {
  if (value == usual) return "";
  char digits[32];  // the shortest that reads back as this number
  return std::string(" ") + key + "=" +
         std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

const std::vector<std::string>& gemm_keys() { return keys; }

bool is_gemm(std::string_view text) {
  const auto words = split_words(text);
  return !words.empty() && words[0] == "gemm";
}

GemmProblem parse_gemm(std::string_view text) {
  const auto words = split_words(text);
  require(words.size() >= 2 && words[0] == "gemm", bad, "\"", text,
          "\" is not a whole gemm problem", form);
  require_keys_once(words);
  GemmProblem problem;
  Parts parts;
  parts.dtype = parts.out = parse_dtype(words[1]);
  for (size_t i = 2; i < words.size(); ++i) parse_word(words[i], parts, problem);
  require(parts.m >= 0 && parts.n >= 0 && parts.k >= 0, bad, "\"", text, "\" lacks m, n or k",
          form);
  const auto batch_of = [&](int64_t own) { return own >= 0 ? own : parts.batch; };
  problem.c = matrix(parts.out, parts.batch, parts.m, parts.n, parts.c, "c");
  problem.a = matrix(parts.dtype, batch_of(parts.a_batch), parts.m, parts.k, parts.a, "a");
  problem.b = matrix(parts.dtype, batch_of(parts.b_batch), parts.k, parts.n, parts.b, "b");
  return problem;
}

std::string to_text(const GemmProblem& p) {
  const auto number = [](const char* key, int64_t value) {
    return std::string(" ") + key + "=" + std::to_string(value);
  };
  std::string text = gemm_text(p.c, p.a, p.b);
  text += number_text("alpha", p.alpha, 1) + number_text("beta", p.beta, 0);
  if (p.c_at) text += number("c_at", p.c_at);
  if (p.a_at) text += number("a_at", p.a_at);
  if (p.b_at) text += number("b_at", p.b_at);
  return text;
}

double flops(const GemmProblem& p) {
  return 2.0 * static_cast<double>(element_count(p.c)) *
         static_cast<double>(p.a.shape[p.a.rank - 1]);
}

double compulsory_bytes(const GemmProblem& p) {
  const auto bytes = [](const Layout& x) {
    return static_cast<double>(element_count(x)) * static_cast<double>(dtype_bytes(x.dtype));
  };
  return bytes(p.a) + bytes(p.b) + bytes(p.c) * (p.beta == 0 ? 1 : 2);
}

}  // namespace infini::harness
