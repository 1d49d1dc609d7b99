// Patterns: every text is understood or refused with words that point at a character of it, and what is understood means
// what a naive reading of names says.
#include "plan/pattern/pattern.h"

#include <map>
#include <regex>

#include "base/error.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

using Shape = std::vector<int64_t>;
using Side = std::vector<std::vector<std::string>>;

std::string choose_text(Input& in) {
  static constexpr const char* words[] = {"a",   "b",     "c",     "x", "h_1", "...", "(",
                                          ")",   "(a b)", "(b c)", "1", "()",  "2",   "->",
                                          "a b", "(...)", "(h_1",  "_", "3",   "0"};
  std::string text;
  if (in.one_in(4)) {
    for (int i = in.below(60); i > 0; --i) text += static_cast<char>(in.byte());
    return text;
  }
  for (int side = in.one_in(30) ? 1 : 0; side < 2; ++side) {
    for (int i = in.below(6); i > 0; --i) text += std::string(in.one_of(words)) + " ";
    if (side == 0) text += "->";
  }
  return text;
}

Side read_side(const std::string& text, int rest) {
  static const std::regex token("\\.\\.\\.|[()]|\\w+");
  Side side;
  bool inside = false;
  for (std::sregex_iterator at(text.begin(), text.end(), token), end; at != end; ++at) {
    const std::string word = at->str();
    if (word == "(") side.emplace_back();
    if (word == "(" || word == ")") {
      inside = word == "(";
      continue;
    }
    if (word == "..." && !inside) {
      for (int i = 0; i < rest; ++i) side.push_back({"..." + std::to_string(i)});
      continue;
    }
    if (!inside) side.emplace_back();
    if (word == "...")
      for (int i = 0; i < rest; ++i) side.back().push_back("..." + std::to_string(i));
    else if (word != "1")
      side.back().push_back(std::isdigit(static_cast<unsigned char>(word[0]))
                                ? word + "#" + std::to_string(at->position())
                                : word);
  }
  return side;
}

// The elements of the result as numbers of x's, by names and indices alone; false where they are too many to count.
bool naive(const std::string& text, const Shape& x, const std::vector<AxisSize>& sizes,
           Shape& shape, Shape& result) {
  const size_t arrow = text.find("->");
  const std::string left_text = text.substr(0, arrow);
  const bool has_rest = left_text.find("...") != std::string::npos;
  const int rest = has_rest ? static_cast<int>(x.size() - read_side(left_text, 0).size()) : 0;
  const Side left = read_side(left_text, rest), right = read_side(text.substr(arrow + 2), rest);
  std::map<std::string, int64_t> extents;
  for (const auto& [name, size] : sizes) extents[std::string(name)] = size;
  for (size_t i = 0; i < left.size(); ++i) {
    int64_t known = 1;
    for (const auto& name : left[i])
      if (extents.count(name)) known *= extents[name];
    for (const auto& name : left[i])
      if (!extents.count(name)) extents[name] = known ? x[i] / known : 0;
  }
  int64_t count = 1;
  for (const auto& group : right) {
    shape.push_back(1);
    for (const auto& name : group) {
      if (!extents.count(name)) extents[name] = std::stoll(name);
      if (extents[name] > 1000) return false;
      shape.back() *= extents[name];
      if (shape.back() > 1000) return false;
    }
    count *= shape.back();
    if (count > 1000) return false;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::map<std::string, int64_t> at;
    int64_t left_over = i, element = 0;
    for (auto group = right.rbegin(); group != right.rend(); ++group)
      for (auto name = group->rbegin(); name != group->rend(); ++name) {
        at[*name] = left_over % extents[*name];
        left_over /= extents[*name];
      }
    for (const auto& group : left)
      for (const auto& name : group) element = element * extents[name] + at[name];
    result.push_back(element);
  }
  return true;
}

Shape walked(const PatternWalk& walk, const Shape& x) {
  const std::vector<size_t> extents(x.begin(), x.end());
  const Layout src =
      walked_source(walk, make_layout(INFINI_DTYPE_U8, x.size(), extents.data(), nullptr));
  const Layout dst = walked_result(walk, result_layout(walk, INFINI_DTYPE_U8));
  Shape result(static_cast<size_t>(element_count(dst)), -1);
  for (int64_t i = 0; i < element_count(dst); ++i) {
    int64_t to = 0, from = 0, left_over = i;
    for (int dim = dst.rank - 1; dim >= 0; --dim) {
      to += left_over % dst.shape[dim] * dst.strides[dim];
      from += left_over % dst.shape[dim] * src.strides[dim];
      left_over /= dst.shape[dim];
    }
    result.at(static_cast<size_t>(to)) = from;
  }
  return result;
}

void require_place(const std::string& text, const std::string& message) {
  static const std::regex place("character ([0-9]+): ");
  std::smatch found;
  if (message.empty()) finding(text, "refused without a word");
  if (std::regex_search(message, found, place) && std::stoull(found[1]) > text.size() + 1)
    finding(text, "points behind its end: " + message);
}

void check(const std::string& text, const Shape& x, const std::vector<AxisSize>& sizes) {
  announce(text);
  PatternWalk walk;
  try {
    walk = walk_of(parse_pattern(text), static_cast<int>(x.size()), x.data(),
                   {sizes.data(), sizes.size()});
    result_layout(walk, INFINI_DTYPE_U8);
  } catch (const Error& error) {
    return require_place(text, error.what());
  }
  Shape shape, result;
  if (!naive(text, x, sizes, shape, result)) return;
  if (Shape(walk.shape, walk.shape + walk.rank) != shape)
    finding(text, "another shape than names say");
  if (walked(walk, x) != result) finding(text, "other elements than names say");
}

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace infini;
  static constexpr const char* names[] = {"a", "b", "c", "x", "h_1"};
  static constexpr int64_t extents[] = {2, 3, 1, 4, 0, -1, int64_t{1} << 62, INT64_MAX};
  fuzz::Input in(data, size);
  fuzz::Shape x;
  for (int i = in.below(6); i > 0; --i) x.push_back(in.below(8));
  std::vector<AxisSize> sizes;
  for (int i = in.below(4); i > 0; --i) sizes.push_back({in.one_of(names), in.one_of(extents)});
  fuzz::check(fuzz::choose_text(in), x, sizes);
  return 0;
}
