// The text form of rearrange problems.
#include "harness/rearrange/problem.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/error.h"
#include "harness/gemm/gemm_problem.h"
#include "harness/names.h"
#include "harness/suggest.h"
#include "harness/text.h"
#include "plan/pattern/pattern.h"
#include "plan/problem_text.h"

namespace infini::harness {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr const char* form =
    "; expected: rearrange DTYPE SHAPE [dst=STRIDES] [src=STRIDES] [perm=AXES | PATTERN] "
    "[dst_at=BYTES] [src_at=BYTES], e.g. \"rearrange f32 2x3 dst=1,2\"";

const std::vector<std::string> keys = {"dst", "src", "perm", "dst_at", "src_at"};

struct Strides {
  bool given = false;
  std::vector<ptrdiff_t> values;
};

constexpr size_t any_rank = SIZE_MAX;  // checked later

Strides parse_strides(std::string_view text, size_t rank, const char* what) {
  const auto numbers = parse_integers(text, ',', what);
  require(rank == any_rank || numbers.size() == rank, bad, what, " has ", numbers.size(),
          " strides for ", rank, " dims");
  return {true, {numbers.begin(), numbers.end()}};
}

// perm: `shape` is the source's; both layouts get the result's shape.
void apply_permutation(std::string_view text, infiniDtype_t dtype, std::vector<size_t>& shape,
                       Strides& src) {
  const auto axes = parse_integers(text, ',', "perm");
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = axes.size() == shape.size();
  for (size_t i = 0; i < sorted.size(); ++i)
    is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
  require(is_permutation, bad, "perm: \"", text, "\" does not name each of the ", shape.size(),
          " axes once");
  const Layout old = make_layout(dtype, shape.size(), shape.data(), nullptr);
  src = {true, std::vector<ptrdiff_t>(shape.size())};
  for (size_t i = 0; i < axes.size(); ++i) {
    shape[i] = static_cast<size_t>(old.shape[axes[i]]);
    src.values[i] = old.strides[axes[i]];
  }
}

// A word with quotes around all or an end of it, as in 'a b -> b a'.
std::string unquoted(std::string word) {
  std::erase(word, '\'');
  return word;
}

// "n c h w -> n h w c", between the other words.
struct WrittenPattern {
  std::string text;
  std::vector<std::string> names;
  std::vector<int64_t> sizes;

  void take(const std::string& word) {
    const size_t end = word.find('=');
    if (end == std::string::npos) {
      text += (text.empty() ? "" : " ") + unquoted(word);
      return;
    }
    names.push_back(word.substr(0, end));
    sizes.push_back(parse_integer(std::string_view(word).substr(end + 1), names.back()));
  }
  // The copy between the given layouts of the source and the result, as loops.
  void apply(infiniDtype_t dtype, const std::vector<size_t>& shape, const Strides& dst_strides,
             const Strides& src_strides, RearrangeProblem& problem) const;
};

Layout layout(infiniDtype_t dtype, const std::vector<size_t>& shape, const Strides& strides) {
  return make_layout(dtype, shape.size(), shape.data(),
                     strides.given ? strides.values.data() : nullptr);
}

void WrittenPattern::apply(infiniDtype_t dtype, const std::vector<size_t>& shape,
                           const Strides& dst_strides, const Strides& src_strides,
                           RearrangeProblem& problem) const {
  std::vector<AxisSize> given;
  for (size_t i = 0; i < names.size(); ++i) given.push_back({names[i], sizes[i]});
  const Layout src = layout(dtype, shape, src_strides);
  const PatternWalk walk =
      walk_of(parse_pattern(text), src.rank, src.shape, {given.data(), given.size()});
  const std::vector<size_t> result(walk.shape, walk.shape + walk.rank);
  require(!dst_strides.given || dst_strides.values.size() == result.size(), bad, "dst has ",
          dst_strides.values.size(), " strides for ", result.size(), " dims");
  problem.dst = walked_result(walk, layout(dtype, result, dst_strides));
  problem.src = walked_source(walk, src);
}

}  // namespace

RearrangeProblem parse_rearrange(std::string_view text) {
  const auto words = split_words(text);
  if (words.empty() || words[0] != "rearrange")
    fail(bad, "\"", text, "\" is not a problem",
         did_you_mean(words.empty() ? "" : words[0], {"rearrange", "gemm"}),
         "; those begin with rearrange or gemm, as in \"rearrange f32 2x3 perm=1,0\" or "
         "\"gemm f32 m=2 n=3 k=4\"");
  require(words.size() >= 3, bad, "\"", text, "\" is not a whole rearrange problem", form);
  const infiniDtype_t dtype = parse_dtype(words[1]);
  require_keys_once(words);
  auto shape = parse_shape(words[2]);
  RearrangeProblem problem;
  Strides dst, src;
  std::string_view axes;
  bool permuted = false;
  WrittenPattern pattern;
  const bool by_pattern = text.find("->") != std::string_view::npos;
  for (size_t i = 3; i < words.size(); ++i) {
    std::string_view value;
    if (take_key(words[i], "dst", value))
      dst = parse_strides(value, by_pattern ? any_rank : shape.size(), "dst");
    else if (take_key(words[i], "src", value))
      src = parse_strides(value, shape.size(), "src");
    else if (take_key(words[i], "perm", axes))
      permuted = true;
    else if (take_key(words[i], "dst_at", value))
      problem.dst_at = parse_misalignment(value, "dst_at");
    else if (take_key(words[i], "src_at", value))
      problem.src_at = parse_misalignment(value, "src_at");
    else if (by_pattern)
      pattern.take(words[i]);
    else
      fail(bad, "\"", words[i], "\" is not understood", did_you_mean_key(words[i], keys), form);
  }
  require(!permuted || !src.given, bad, "\"", text, "\": perm and src exclude each other");
  require(!permuted || !by_pattern, bad, "\"", text, "\": perm and a pattern exclude each other");
  if (by_pattern) {
    pattern.apply(dtype, shape, dst, src, problem);
    return problem;
  }
  if (permuted) apply_permutation(axes, dtype, shape, src);
  problem.dst = layout(dtype, shape, dst);
  problem.src = layout(dtype, shape, src);
  return problem;
}

std::vector<std::string> problem_keys(std::string_view op) {
  return op == "rearrange" ? keys : op == "gemm" ? gemm_keys() : std::vector<std::string>();
}

std::string to_text(const RearrangeProblem& problem) {
  std::string text = rearrange_text(problem.dst, problem.src);
  if (problem.dst_at) text += " dst_at=" + std::to_string(problem.dst_at);
  if (problem.src_at) text += " src_at=" + std::to_string(problem.src_at);
  return text;
}

}  // namespace infini::harness
