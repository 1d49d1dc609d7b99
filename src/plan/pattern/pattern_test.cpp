// Patterns: what they mean against an evaluator that knows nothing but names and indices, and what they refuse.
#include "plan/pattern/pattern.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/error.h"
#include "plan/pattern/product.h"

namespace infini {
namespace {

using Shape = std::vector<int64_t>;

int64_t count_of(const int64_t* shape, int rank) {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= shape[i];
  return count;
}

PatternWalk walk(const std::string& text, const Shape& shape, std::vector<AxisSize> sizes = {}) {
  return walk_of(parse_pattern(text), static_cast<int>(shape.size()), shape.data(),
                 {sizes.data(), sizes.size()});
}

std::string refusal(const std::string& text, const Shape& shape, std::vector<AxisSize> sizes = {}) {
  try {
    walk(text, shape, std::move(sizes));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), INFINI_STATUS_BAD_PARAM);
    return error.what();
  }
  return "accepted";
}

// The offsets of a layout's elements in row-major order of its shape.
std::vector<int64_t> offsets(const Layout& layout) {
  std::vector<int64_t> all;
  const int64_t count = count_of(layout.shape, layout.rank);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0, rest = i;
    for (int dim = layout.rank - 1; dim >= 0; --dim) {
      at += rest % layout.shape[dim] * layout.strides[dim];
      rest /= layout.shape[dim];
    }
    all.push_back(at);
  }
  return all;
}

// Element i of the result, as the walk says: which of x's elements.
std::vector<int64_t> result_of(const PatternWalk& walk, const Shape& x) {
  std::vector<size_t> shape(x.begin(), x.end());
  const Layout src = make_layout(INFINI_DTYPE_U8, shape.size(), shape.data(), nullptr);
  const Layout dst = result_layout(walk, INFINI_DTYPE_U8);
  std::vector<int64_t> result(static_cast<size_t>(count_of(walk.shape, walk.rank)), -1);
  const auto from = offsets(walked_source(walk, src)), to = offsets(walked_result(walk, dst));
  EXPECT_EQ(from.size(), result.size());
  for (size_t i = 0; i < to.size(); ++i) {
    EXPECT_EQ(result.at(static_cast<size_t>(to[i])), -1) << "written twice";
    result[static_cast<size_t>(to[i])] = from[i];
  }
  return result;
}

TEST(Pattern, TransposesSplitsJoinsAndRepeats) {
  using V = std::vector<int64_t>;
  EXPECT_EQ(result_of(walk("a b -> b a", {2, 3}), {2, 3}), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(result_of(walk("(a b) -> b a", {6}, {{"b", 3}}), {6}), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(result_of(walk("a b -> (b a)", {2, 3}), {2, 3}), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(result_of(walk("a -> a r", {2}, {{"r", 2}}), {2}), (V{0, 0, 1, 1}));
  EXPECT_EQ(result_of(walk("a -> 2 a", {2}), {2}), (V{0, 1, 0, 1}));
  EXPECT_EQ(result_of(walk("a -> (a 2)", {2}), {2}), (V{0, 0, 1, 1}));
  EXPECT_EQ(result_of(walk("... a -> a ...", {2, 3}), {2, 3}), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(result_of(walk("... a -> a (...)", {2, 1, 3}), {2, 1, 3}), (V{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(result_of(walk("->", {}), {}), (V{0}));
}

TEST(Pattern, OnesComeAndGo) {
  const PatternWalk made = walk("1 a () -> a 1 (1 1)", {1, 5, 1});
  EXPECT_EQ(Shape(made.shape, made.shape + made.rank), (Shape{5, 1, 1}));
  EXPECT_EQ(made.axes, 1);
  const PatternWalk joined = walk("... -> (...)", {});
  EXPECT_EQ(Shape(joined.shape, joined.shape + joined.rank), (Shape{1}));
}

TEST(Pattern, ZeroExtents) {
  const PatternWalk made = walk("a (b c) -> c (a b)", {0, 4}, {{"b", 2}});
  EXPECT_EQ(Shape(made.shape, made.shape + made.rank), (Shape{2, 0}));
  const PatternWalk huge = walk("a b c -> (a b c)", {INT64_MAX, INT64_MAX, 0});
  EXPECT_EQ(huge.shape[0], 0);
}

// A random pattern as data: axes with extents, and how each side groups them.
struct Drawn {
  std::map<std::string, int64_t> extents;
  std::vector<std::vector<std::string>> left, right;  // numbers and "..." are spelt as they are
  std::vector<AxisSize> sizes;
  Shape x;
  std::vector<std::string> rest;  // what "..." stands for
};

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }

  std::vector<std::vector<std::string>> group(std::vector<std::string> axes) {
    std::shuffle(axes.begin(), axes.end(), random_);
    std::vector<std::vector<std::string>> groups;
    for (const auto& axis : axes) {
      if (groups.empty() || below(2)) groups.emplace_back();
      groups.back().push_back(axis);
      if (below(6) == 0) groups.emplace_back();
    }
    return groups;
  }

  Drawn pattern() {
    Drawn drawn;
    std::vector<std::string> names, fresh;
    for (int64_t i = below(5); i >= 0; --i) names.push_back("axis" + std::to_string(i));
    for (int64_t i = below(2); i > 0; --i) fresh.push_back("new_" + std::to_string(i));
    for (const auto& name : names) drawn.extents[name] = below(20) == 0 ? 0 : 1 + below(4);
    for (const auto& name : fresh) drawn.extents[name] = 1 + below(3);
    drawn.left = group(names);
    if (below(2)) {
      for (int64_t i = below(3); i > 0; --i) {
        drawn.rest.push_back("." + std::to_string(i));
        drawn.extents[drawn.rest.back()] = 1 + below(3);
      }
      drawn.left.insert(drawn.left.begin() + below(static_cast<int64_t>(drawn.left.size()) + 1),
                        {"..."});
    }
    for (const auto& name : fresh) names.push_back(name);
    if (below(3) == 0) {
      names.emplace_back("3");
      drawn.extents["3"] = 3;
    }
    const bool has_rest = std::any_of(drawn.left.begin(), drawn.left.end(),
                                      [](auto& g) { return g.size() == 1 && g[0] == "..."; });
    if (has_rest) names.emplace_back("...");
    drawn.right = group(names);
    give_sizes(drawn, fresh);
    return drawn;
  }

 private:
  // All but one of each dim; which one is found out.
  void give_sizes(Drawn& drawn, const std::vector<std::string>& fresh) {
    for (const auto& name : fresh) give(drawn, name);
    for (const auto& group : drawn.left) {
      if (group.size() == 1 && group[0] == "...") {
        for (const auto& name : drawn.rest) drawn.x.push_back(drawn.extents[name]);
        continue;
      }
      int64_t extent = 1;
      for (const auto& name : group) extent *= drawn.extents[name];
      drawn.x.push_back(extent);
      const int64_t open = below(static_cast<int64_t>(group.size()) + 1);
      int64_t known = 1;
      for (size_t i = 0; i < group.size(); ++i)
        if (static_cast<int64_t>(i) != open) known *= drawn.extents[group[i]];
      for (size_t i = 0; i < group.size(); ++i)
        if (static_cast<int64_t>(i) != open || known == 0) give(drawn, group[i]);
    }
  }
  void give(Drawn& drawn, const std::string& name) {
    const auto at = drawn.extents.find(name);
    drawn.sizes.push_back({at->first, at->second});
  }
  std::mt19937 random_;
};

std::string side_text(const std::vector<std::vector<std::string>>& side) {
  std::string text;
  for (const auto& group : side) {
    std::string inside;
    for (const auto& name : group) inside += (inside.empty() ? "" : " ") + name;
    text += group.size() == 1 && group[0] != "..."     ? inside + " "
            : group == std::vector<std::string>{"..."} ? "... "
                                                       : "(" + inside + ")";
  }
  return text;
}

// "..." as what it stands for: on the right inside of parentheses, or as dims of their own.
std::vector<std::vector<std::string>> spelt(const Drawn& drawn,
                                            const std::vector<std::vector<std::string>>& side) {
  std::vector<std::vector<std::string>> groups;
  for (const auto& group : side) {
    if (group == std::vector<std::string>{"..."}) {
      for (const auto& name : drawn.rest) groups.push_back({name});
      continue;
    }
    groups.emplace_back();
    for (const auto& name : group)
      if (name == "...")
        groups.back().insert(groups.back().end(), drawn.rest.begin(), drawn.rest.end());
      else
        groups.back().push_back(name);
  }
  return groups;
}

// By names and indices alone.
std::vector<int64_t> naive(const Drawn& drawn, Shape& shape) {
  const auto left = spelt(drawn, drawn.left), right = spelt(drawn, drawn.right);
  int64_t count = 1;
  for (const auto& group : right) {
    shape.push_back(1);
    for (const auto& name : group) shape.back() *= drawn.extents.at(name);
    count *= shape.back();
  }
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) {
    std::map<std::string, int64_t> at;
    int64_t rest = i;
    for (auto group = right.rbegin(); group != right.rend(); ++group)
      for (auto name = group->rbegin(); name != group->rend(); ++name) {
        at[*name] = rest % drawn.extents.at(*name);
        rest /= drawn.extents.at(*name);
      }
    int64_t element = 0;
    for (const auto& group : left)
      for (const auto& name : group) element = element * drawn.extents.at(name) + at[name];
    result.push_back(element);
  }
  return result;
}

TEST(Pattern, RandomOnesMeanWhatNamesSay) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const Drawn drawn = Draw(seed).pattern();
    const std::string text = side_text(drawn.left) + "->" + side_text(drawn.right);
    Shape shape;
    const auto expected = naive(drawn, shape);
    const PatternWalk made = walk(text, drawn.x, drawn.sizes);
    ASSERT_EQ(Shape(made.shape, made.shape + made.rank), shape) << text;
    ASSERT_EQ(result_of(made, drawn.x), expected) << text;
  }
}

TEST(Pattern, ViewsAreTheSameElementsOrRefused) {
  int views = 0, refused = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    const Drawn drawn = Draw(seed).pattern();
    const std::string text = side_text(drawn.left) + "->" + side_text(drawn.right);
    const PatternWalk made = walk(text, drawn.x, drawn.sizes);
    std::vector<size_t> x(drawn.x.begin(), drawn.x.end());
    const Layout src = make_layout(INFINI_DTYPE_U8, x.size(), x.data(), nullptr);
    try {
      const Layout view = view_of(parse_pattern(text), made, src);
      ASSERT_EQ(Shape(view.shape, view.shape + view.rank),
                Shape(made.shape, made.shape + made.rank));
      ASSERT_EQ(offsets(view), result_of(made, drawn.x)) << text;
      ++views;
    } catch (const Error& error) {
      ASSERT_EQ(error.status(), INFINI_STATUS_BAD_TENSOR_STRIDES) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(views, 300);
  EXPECT_GT(refused, 300);
}

struct Refused {
  const char* text;
  Shape shape;
  std::vector<AxisSize> sizes;
  const char* message;
};

TEST(Pattern, RefusesAndPointsAtTheCharacter) {
  const Shape x = {2, 6, 4, 5};
  const std::vector<Refused> cases = {
      {"", x, {}, "character 1: expected ->"},
      {"a b c d", x, {}, "character 8: expected ->"},
      {"a -> a -> a", x, {}, "character 8: expected one ->"},
      {"a b c d -> (a b c d", x, {}, "character 12: this parenthesis is not closed"},
      {"a b c d) -> a b c d", x, {}, "character 8: closes no parenthesis"},
      {"a ((b c) d) e f -> a", x, {}, "character 4: parentheses do not nest"},
      {"a a c d -> a c d", x, {}, "character 3: a stands twice"},
      {"_ _ c d -> _ c d", x, {}, "character 3: _ stands twice"},
      {"a b c d -> a b c d a", x, {}, "character 20: a stands twice"},
      {"... b ... -> b ...", x, {}, "character 7: ... stands twice"},
      {"a b c d ... -> a b c d", x, {}, "character 9: ... stands on one side only"},
      {"a b c d -> a b c d ...", x, {}, "character 20: ... stands on one side only"},
      {"a (b ...) -> a b ...", x, {}, "character 6: ... stands outside of parentheses"},
      {"a b c 2d -> a", x, {}, "character 7: a name does not begin with a digit"},
      {"a b c é -> a", x, {}, "character 7: 'é' is no axis"},
      {"é é -> a", x, {}, "character 1: 'é' is no axis"},
      {"aé -> a", x, {}, "character 2: 'é' is no axis"},
      {"a, b -> a", x, {}, "character 2: ',' is no axis"},
      {"a.b -> a", x, {}, "character 2: '.' is no axis"},
      {"a 10 c d -> a", x, {}, "character 3: an axis of 10 elements needs a name"},
      {"a b c d -> a b c d 0", x, {}, "character 20: an axis of 0 elements"},
      {"a b c d -> a b c d 99999999999999999999", x, {}, "does not fit into 64 bits"},
      {"a b c -> a b c", x, {}, "character 5: the left side has 3 dims, the array has 4: 2x6x4x5"},
      {"a b c d e ... -> a b c d e ...", x, {}, "5 dims besides ..., the array has 4"},
      {"a (b e) c d -> a b e c d",
       x,
       {},
       "character 6: the sizes of b and e in dim 1 of 6 are not given"},
      {"a (b e) c d -> a b e c d",
       x,
       {{"b", 4}},
       "character 3: dim 1 has 6 elements, (b e) makes 4 times e"},
      {"a (b e) c d -> a b e c d", x, {{"b", 0}}, "(b e) makes 0 times e"},
      {"a (b e) c d -> a b e c d", x, {{"b", 2}, {"e", 2}}, "dim 1 has 6 elements, (b e) makes 4"},
      {"a b c d -> a b c d", x, {{"b", 5}}, "character 3: dim 1 has 6 elements, (b) makes 5"},
      {"a b c d -> a b c", x, {}, "character 7: d is lost on the right"},
      {"a -> 1", {1}, {}, "character 1: a is lost"},
      {"1 -> 1", {2}, {}, "character 1: dim 0 has 2 elements, () makes 1"},
      {"a b c d -> a b c d e", x, {}, "character 20: e is new on the right; give its size"},
      {"a b c d -> a b c d", x, {{"e", 2}}, "there is no axis e"},
      {"a b c d -> a b c d", x, {{"a", 2}, {"a", 2}}, "a is given twice"},
      {"a b c d -> a b c d e", x, {{"e", -1}}, "e is -1; expected a size"},
      {"a b c d -> (a e b) c d",
       x,
       {{"e", INT64_MAX}},
       "character 12: (a e b) has too many elements"},
      {"a b -> a b", {2, 3, 4}, {}, "the left side has 2 dims, the array has 3"},
  };
  for (const Refused& one : cases) {
    const std::string message = refusal(one.text, one.shape, one.sizes);
    EXPECT_NE(message.find(one.message), std::string::npos) << one.text << ": " << message;
  }
}

TEST(Pattern, LongOnesAreRefusedShortly) {
  const auto times = [](const char* part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  for (const std::string& text :
       {times("(", 1000000), times("a ", 500000), times("->", 500000), times("1 ", 500000) + "->",
        std::string(1000000, 'x'), std::string(1000000, ' '), times("()", 500000) + "->",
        times("é", 400000), "a -> " + std::string(1000000, '9')}) {
    const std::string message = refusal(text, {2});
    EXPECT_LT(message.size(), 300u) << message;
    EXPECT_NE(message, "accepted");
  }
}

TEST(Pattern, SizesOfNames) {
  const auto sizes = [](const char* text, const Shape& shape) {
    std::string said;
    const Pattern side = parse_side(text);
    for (const auto& [name, size] : sizes_of(side, static_cast<int>(shape.size()), shape.data()))
      said += std::string(name) + "=" + std::to_string(size) + " ";
    return said;
  };
  EXPECT_EQ(sizes("b h _ c", {2, 3, 4, 5}), "b=2 h=3 c=5 ");
  EXPECT_EQ(sizes("_ ... _ c", {2, 3, 4, 5}), "c=5 ");
  EXPECT_EQ(sizes("1 a", {1, 7}), "a=7 ");
  EXPECT_EQ(sizes("2 a () 5", {2, 3, 1, 5}), "a=3 ");
  for (const char* wrong : {"a b", "a (b c)", "a -> a", "a a b", "3 a b", "a b 0"})
    EXPECT_THROW(sizes(wrong, {2, 3, 4}), Error) << wrong;
}

TEST(ProductPattern, SortsAxes) {
  const ProductPattern p = product_of("b i k, k b j -> j b i", {2, 3, 4}, {4, 2, 5});
  EXPECT_EQ(p.shape, (Shape{5, 2, 3}));
  using V = std::vector<size_t>;
  EXPECT_EQ(p.batch.a, (V{0}));
  EXPECT_EQ(p.batch.b, (V{1}));
  EXPECT_EQ(p.batch.c, (V{1}));
  EXPECT_EQ(p.rows.a, (V{1}));
  EXPECT_EQ(p.columns.b, (V{2}));
  EXPECT_EQ(p.sums.a, (V{2}));
  EXPECT_EQ(p.sums.b, (V{0}));
  EXPECT_EQ(product_of("ik,kj->ij", {3, 4}, {4, 5}).shape, (Shape{3, 5}));
  EXPECT_EQ(product_of("time, time ->", {3}, {3}).shape, (Shape{}));
}

TEST(ProductPattern, Refuses) {
  const auto refused = [](const char* text, const Shape& a, const Shape& b) -> std::string {
    try {
      product_of(text, a, b);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const auto& [text, message] : std::vector<std::pair<const char*, const char*>>{
           {"i k, k j", "character 9: expected ->"},
           {"i k -> k i", "character 5: expected two tensors"},
           {"i k, k j, j l -> i l", "character 9: ',' is no axis"},
           {"i k, k j -> i j x", "character 17: x is new on the right"},
           {"i k, k j -> j", "character 1: i is in one tensor alone"},
           {"i i, i j -> j", "character 3: i stands twice in one tensor"},
           {"i k, j k -> i j", "k is 4 in a and 5 in b"},
           {"b i k, k j -> b i j", "has 3 axes for a, which has 2 dims"},
           {"i 2, k j -> i j", "character 3: '2' is no axis"}})
    EXPECT_NE(refused(text, {3, 4}, {4, 5}).find(message), std::string::npos)
        << text << ": " << refused(text, {3, 4}, {4, 5});
}

}  // namespace
}  // namespace infini
