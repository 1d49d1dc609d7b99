// The law of reading through copies, over random copies and views; what must be seen and what not.
#include "plan/layout/source_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/dtype.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini {
namespace {

// The byte offset of every element, in row-major order.
std::vector<int64_t> places(const Layout& layout, int64_t offset) {
  std::vector<int64_t> all;
  for (int64_t n = 0; n < element_count(layout); ++n) {
    int64_t rest = n, at = offset;
    for (int i = layout.rank; i-- > 0;) {
      if (layout.shape[i] == 1) continue;
      at += rest % layout.shape[i] * layout.strides[i] * dtype_bytes(layout.dtype);
      rest /= layout.shape[i];
    }
    all.push_back(at);
  }
  return all;
}

struct View {
  Layout layout;
  int64_t offset = 0;
};

// Swaps, narrows, reverses, splits or drops a dim, or takes any strides at all.
void change(View& view, harness::Random& random) {
  Layout& x = view.layout;
  if (x.rank == 0) return;
  const int i = static_cast<int>(random.between(0, x.rank - 1)),
            j = static_cast<int>(random.between(0, x.rank - 1));
  const int64_t bytes = dtype_bytes(x.dtype), step = x.shape[i] == 1 ? 0 : x.strides[i];
  switch (random.between(0, 5)) {
    case 0:
      std::swap(x.shape[i], x.shape[j]);
      std::swap(x.strides[i], x.strides[j]);
      return;
    case 1: {  // narrow
      const int64_t first = random.between(0, x.shape[i] - 1);
      view.offset += first * step * bytes;
      x.shape[i] = random.between(1, x.shape[i] - first);
      return;
    }
    case 2:  // every other one, backwards
      view.offset += (x.shape[i] - 1) * step * bytes;
      x.shape[i] = (x.shape[i] + 1) / 2;
      x.strides[i] = -2 * step;
      return;
    case 3:  // split
      if (x.rank == max_rank || x.shape[i] % 2 != 0) return;
      x.shape[x.rank] = 2;
      x.strides[x.rank] = step * (x.shape[i] /= 2);
      ++x.rank;
      return;
    case 4:  // a diagonal
      if (i == j || x.shape[j] == 1) return;
      x.shape[i] = std::min(x.shape[i], x.shape[j]);
      x.strides[i] = step + x.strides[j];
      x.shape[j] = 1;
      return;
    default: x.strides[i] = random.between(-4, 4);
  }
}

TEST(SourceView, KeepsItsLawForRandomCopiesAndViews) {
  harness::Random random(11);
  int seen = 0, unseen = 0;
  for (int n = 0; n < 40000; ++n) {
    const auto problem = harness::random_problem(random, {.max_rank = 5, .max_elements = 96});
    if (element_count(problem.dst) == 0) continue;
    View view{problem.dst};
    for (int64_t changes = random.between(0, 4); changes > 0; --changes) change(view, random);
    const auto answer =
        source_view(make_rearrange_plan(problem.dst, problem.src), view.layout, view.offset);
    if (!answer) {
      ++unseen;
      continue;
    }
    ++seen;
    std::map<int64_t, int64_t> source;  // of every element that the copy writes
    const auto to = places(problem.dst, 0), from = places(problem.src, 0);
    for (size_t i = 0; i < to.size(); ++i) source[to[i]] = from[i];
    std::vector<int64_t> expected;
    for (const int64_t at : places(view.layout, view.offset)) {
      ASSERT_EQ(1u, source.count(at)) << harness::to_text(problem) << ", view " << view.layout;
      expected.push_back(source[at]);
    }
    ASSERT_EQ(expected, places(answer->layout, answer->offset))
        << harness::to_text(problem) << ", view " << view.layout << " at " << view.offset;
  }
  EXPECT_GT(seen, 15000);
  EXPECT_GT(unseen, 2000);
}

Layout layout(std::vector<size_t> shape, std::vector<ptrdiff_t> strides) {
  return make_layout(INFINI_DTYPE_F32, shape.size(), shape.data(), strides.data());
}

// "-" where nothing is seen, else strides and offset.
std::string seen(const char* copy, const Layout& view, int64_t offset = 0) {
  const auto problem = harness::parse_rearrange(copy);
  const auto answer = source_view(make_rearrange_plan(problem.dst, problem.src), view, offset);
  if (!answer) return "-";
  std::string text;
  for (int i = 0; i < view.rank; ++i) text += std::to_string(answer->layout.strides[i]) + " ";
  return text + "at " + std::to_string(answer->offset);
}

constexpr const char* turned = "rearrange f32 6x8 src=1,6";  // a dense copy of a transposition
constexpr const char* padded = "rearrange f32 6x8 dst=10,1 src=1,6";

TEST(SourceView, SeesPartsTurnsAndSplitsOfACopy) {
  EXPECT_EQ("1 6 at 0", seen(turned, layout({6, 8}, {8, 1})));
  EXPECT_EQ("6 1 at 0", seen(turned, layout({8, 6}, {1, 8})));
  EXPECT_EQ("1 6 at 56", seen(turned, layout({3, 4}, {8, 1}), 4 * (2 * 8 + 2)));
  EXPECT_EQ("1 24 6 at 0", seen(turned, layout({6, 2, 4}, {8, 4, 1})));
  EXPECT_EQ("-1 6 at 20", seen(turned, layout({6, 8}, {-8, 1}), 4 * 40));
  EXPECT_EQ("7 at 0", seen(turned, layout({6}, {9}))) << "the diagonal";
  EXPECT_EQ("0 6 at 4", seen(turned, layout({5, 8}, {0, 1}), 32)) << "a row, repeated";
  EXPECT_EQ("1 at 0", seen("rearrange f32 6x8", layout({48}, {1}))) << "one row of all";
  EXPECT_EQ("1 6 at 0", seen(padded, layout({6, 8}, {10, 1})));
}

TEST(SourceView, SeesNothingThatIsNotOfTheCopyOrHasNoStrides) {
  EXPECT_EQ("-", seen(turned, layout({48}, {1}))) << "one row of a transposition";
  EXPECT_EQ("-", seen(turned, layout({7, 8}, {8, 1}))) << "a row too many";
  EXPECT_EQ("-", seen(turned, layout({6, 8}, {8, 1}), 4)) << "an element too far";
  EXPECT_EQ("-", seen(turned, layout({6, 8}, {8, 1}), -4));
  EXPECT_EQ("-", seen(turned, layout({6, 8}, {8, 1}), 2)) << "between two elements";
  EXPECT_EQ("-", seen(padded, layout({6, 10}, {10, 1}))) << "the gaps, too";
  EXPECT_EQ("-", seen(padded, layout({2}, {1}), 4 * 8)) << "only gaps";
  EXPECT_EQ("-", seen(turned, layout({0, 8}, {8, 1}))) << "no elements";
  EXPECT_EQ("-", seen("rearrange f32 0x8", layout({1}, {1}))) << "nothing was copied";
}

}  // namespace
}  // namespace infini
