// Patterns and products over named axes as operators: results, views, recordings, the cache.
#include <gtest/gtest.h>

#include <map>

#include "tensor/tensor_test_support.h"

namespace infinicore {
namespace {

TEST(PatternOps, RearrangeIsOneCopy) {
  const Tensor x = iota({2, 6, 4});
  const Tensor y = op::rearrange(x, "b (h d) s -> b h s d", {{"h", 3}});
  EXPECT_EQ(y->shape(), (Shape{2, 3, 4, 2}));
  EXPECT_TRUE(y->is_contiguous());
  EXPECT_EQ(elements(y), elements(x->view({2, 3, 2, 4})->permute({0, 1, 3, 2})));
  const std::vector<AxisSize> sizes = {{"d", 2}};
  EXPECT_EQ(elements(op::rearrange(x, "b (h d) s -> b h s d", sizes)), elements(y));
}

// Whatever is in the cache, a pattern means what it says: the same text for other sizes, strides, dtypes.
TEST(PatternOps, TheCacheComparesEverything) {
  const Tensor x = iota({4, 6});
  const Tensor views[] = {x, x->permute({1, 0}), x->view({6, 4}), x->narrow({{0, 1, 2}})};
  for (int round = 0; round < 3; ++round)
    for (const Tensor& view : views)
      for (const Size h : {Size{1}, Size{2}}) {
        const Size rows = view->shape()[0] / h;
        const Tensor y = op::rearrange(view, "(h w) c -> w c h", {{"h", h}});
        EXPECT_EQ(elements(y),
                  elements(view->reshape({h, rows, view->shape()[1]})->permute({1, 2, 0})));
        const Tensor z = op::rearrange(view, "(h w) c -> w c h", {{"w", h}});
        EXPECT_EQ(elements(z),
                  elements(view->reshape({rows, h, view->shape()[1]})->permute({1, 2, 0})));
      }
  context::setOpCacheCapacity(0);
  EXPECT_EQ(elements(op::rearrange(x, "a b -> b a")), elements(x->permute({1, 0})));
  context::setOpCacheCapacity(100);
  context::clearOpCache();
  EXPECT_EQ(elements(op::rearrange(x, "a b -> b a")), elements(x->permute({1, 0})));
}

TEST(PatternOps, IntoAnyStrides) {
  const Tensor x = iota({2, 6}), y = Tensor::zeros({3, 4}, DataType::F32, Device::cpu());
  const Tensor t = y->permute({1, 0});
  op::rearrange_(t, x, "a (b c) -> (a b) c", {{"b", 2}});
  EXPECT_EQ(elements(t), elements(x));
  EXPECT_EQ(status_of([&] { op::rearrange_(y, x, "a b -> b a"); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  const Tensor half = Tensor::zeros({6, 2}, DataType::F16, Device::cpu());
  EXPECT_EQ(status_of([&] { op::rearrange_(half, x, "a b -> b a"); }),
            INFINI_STATUS_BAD_TENSOR_DTYPE);
  // In place: x is read first.
  const Tensor square = iota({3, 3}), before = op::rearrange(square);
  op::rearrange_(square, square, "a b -> b a");
  EXPECT_EQ(elements(square), elements(before->permute({1, 0})));
}

TEST(PatternOps, ViewOrError) {
  const Tensor x = iota({2, 6, 4});
  const Tensor v = op::view(x, "b (h d) s -> b s h d", {{"h", 3}});
  EXPECT_EQ(v->data(), x->data());
  EXPECT_EQ(elements(v), elements(op::rearrange(x, "b (h d) s -> b s h d", {{"h", 3}})));
  EXPECT_EQ(op::view(x, "b h s -> b (h s)")->strides(), (Strides{24, 1}));
  EXPECT_EQ(op::view(x, "b h s -> b h 5 s")->stride(2), 0);
  const std::string message = message_of([&] { op::view(x, "b h s -> h (s b)"); });
  EXPECT_NE(message.find("dim 1 of the result is no view"), std::string::npos) << message;
  EXPECT_EQ(status_of([&] { op::view(x, "b h s -> b (h 2) s"); }),
            INFINI_STATUS_BAD_TENSOR_STRIDES);
}

TEST(PatternOps, AreRecorded) {
  const Tensor x = iota({2, 6}), y = Tensor::zeros({6, 2}, DataType::F32, Device::cpu());
  context::startGraphRecording();
  op::rearrange_(y, x, "a b -> b a");
  const auto graph = context::stopGraphRecording();
  EXPECT_EQ(elements(y), std::vector<float>(12, 0));
  graph->run();
  EXPECT_EQ(elements(y), elements(x->permute({1, 0})));
}

TEST(PatternOps, NamesAndShapes) {
  EXPECT_TRUE(pattern_has("a (b c) -> b a c", "c"));
  EXPECT_FALSE(pattern_has("a (b c) -> b a c", "d"));
  const auto sizes = parse_shape("b _ c", {2, 3, 4});
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[1], (std::pair<std::string, Size>{"c", 4}));
  const PatternWalk walk = walk_pattern("a (b c) -> b (a c)", {2, 6}, {{"c", 2}});
  EXPECT_EQ(walk.shape, (Shape{3, 4}));
  ASSERT_EQ(walk.axes.size(), 3u);
  EXPECT_EQ(walk.axes[1].src_dim, 0);
  EXPECT_EQ(walk.axes[1].dst_scale, 2u);
  EXPECT_EQ(status_of([] { walk_pattern("... -> ...", Shape(65, 1)); }),
            INFINI_STATUS_BAD_TENSOR_SHAPE);
}

// c by its definition, for three names of one letter at most per tensor.
std::vector<float> by_definition(const std::string& pattern, const Tensor& a, const Tensor& b) {
  std::map<char, Size> extents;
  const size_t comma = pattern.find(','), arrow = pattern.find("->");
  const std::string names[] = {pattern.substr(0, comma),
                               pattern.substr(comma + 1, arrow - comma - 1),
                               pattern.substr(arrow + 2)};
  for (size_t i = 0; i < names[0].size(); ++i) extents[names[0][i]] = a->shape()[i];
  for (size_t i = 0; i < names[1].size(); ++i) extents[names[1][i]] = b->shape()[i];
  Size total = 1, results = 1;
  for (const auto& [name, extent] : extents) total *= extent;
  for (const char name : names[2]) results *= extents[name];
  const std::vector<float> left = elements(a), right = elements(b);
  std::vector<float> c(results);
  for (Size point = 0; point < total; ++point) {
    std::map<char, Size> at;
    Size rest = point;
    for (const auto& [name, extent] : extents) at[name] = rest % extent, rest /= extent;
    const auto index = [&](const std::string& side) {
      Size sum = 0;
      for (const char name : side) sum = sum * extents[name] + at[name];
      return sum;
    };
    c[index(names[2])] += left[index(names[0])] * right[index(names[1])];
  }
  return c;
}

TEST(Einsum, IsAProductOfMatrices) {
  struct Case {
    const char* pattern;
    Shape a, b;
  };
  for (const auto& [pattern, a, b] :
       std::vector<Case>{{"ik,kj->ij", {3, 4}, {4, 5}},
                         {"ik,jk->ji", {3, 4}, {5, 4}},
                         {"bik,bkj->bij", {2, 3, 4}, {2, 4, 5}},
                         {"bik,kbj->jbi", {2, 3, 4}, {4, 2, 5}},
                         {"hikl,lkj->ihj", {2, 3, 4, 2}, {2, 4, 5}},
                         {"ihk,kjg->gihj", {3, 2, 4}, {4, 2, 3}},
                         {"ihk,kjg->gjhi", {3, 2, 4}, {4, 2, 3}},
                         {"i,j->ij", {3}, {4}},
                         {"i,i->", {3}, {3}},
                         {"bi,bi->b", {2, 3}, {2, 3}},
                         {"ab,ab->ab", {2, 3}, {2, 3}},
                         {"bhid,bhjd->bhij", {2, 2, 3, 4}, {2, 2, 5, 4}}}) {
    const Tensor x = iota(a), y = iota(b, Device::cpu(), 1);
    const Tensor c = op::einsum(x, y, pattern);
    EXPECT_EQ(c->shape(), op::einsum_shape(a, b, pattern)) << pattern;
    EXPECT_EQ(elements(c), by_definition(pattern, x, y)) << pattern;
  }
  EXPECT_EQ(op::einsum(iota({2, 3}), iota({3, 4}), "time in, in out -> out time")->shape(),
            (Shape{4, 2}));
  const Tensor wrong = Tensor::zeros({2, 2}, DataType::F32, Device::cpu());
  EXPECT_EQ(status_of([&] {
              op::einsum_(wrong, iota({2, 3}), iota({3, 4}), "ik,kj->ij");
            }),
            INFINI_STATUS_BAD_TENSOR_SHAPE);
}

}  // namespace
}  // namespace infinicore
