// Patterns through the C API.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

struct PatternOp {
  PatternOp(const Handle& handle, const Tensor& dst, const Tensor& src, const char* pattern,
            const std::vector<infiniopAxisSize_t>& sizes)
      : status(infiniopCreateRearrangeFromPatternDescriptor(
            handle.handle, &desc, dst.desc, src.desc, pattern, sizes.data(), sizes.size())) {}
  ~PatternOp() { EXPECT_OK(infiniopDestroyRearrangeDescriptor(desc)); }
  infiniopRearrangeDescriptor_t desc = nullptr;
  infiniStatus_t status;
};

TEST(CapiPattern, SplitsAndTransposes) {
  const Handle handle;
  const Tensor src({2, 6}), dst({3, 2, 2});
  const PatternOp op(handle, dst, src, "a (b c) -> b a c", {{"c", 2}});
  ASSERT_OK(op.status);
  const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  float y[12];
  ASSERT_OK(infiniopRearrange(op.desc, y, x, nullptr));
  const float expected[] = {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11};
  EXPECT_EQ(0, std::memcmp(y, expected, sizeof y));
}

TEST(CapiPattern, WritesAnyStrides) {
  const Handle handle;
  const Tensor src({2, 3}), dst({3, 2}, {-1, -4});
  const PatternOp op(handle, dst, src, "a b -> b a", {});
  ASSERT_OK(op.status);
  const float x[] = {0, 1, 2, 3, 4, 5};
  float y[7] = {9, 9, 9, 9, 9, 9, 9};
  ASSERT_OK(infiniopRearrange(op.desc, y + 6, x, nullptr));
  const float expected[] = {5, 4, 3, 9, 2, 1, 0};
  EXPECT_EQ(0, std::memcmp(y, expected, sizeof y));
}

TEST(CapiPattern, WhatIsWrongIsSaid) {
  const Handle handle;
  const Tensor src({2, 6}), dst({3, 2, 2});
  const auto refused = [&](const char* pattern, const std::vector<infiniopAxisSize_t>& sizes) {
    const PatternOp op(handle, dst, src, pattern, sizes);
    EXPECT_EQ(nullptr, op.desc);
    return op.status;
  };
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, refused("a (b c) -> b a c", {{"c", 4}}));
  EXPECT_STREQ(
      "pattern 'a (b c) -> b a c', character 3: dim 1 has 6 elements, (b c) makes 4 times b",
      infiniGetLastErrorString());
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, refused("a (b c) -> a b c", {{"c", 2}}));
  EXPECT_STREQ("dst is 3x2x2; the pattern makes 2x3x2", infiniGetLastErrorString());
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, refused(nullptr, {}));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, refused("a b -> a b", {{nullptr, 2}}));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, refused("a (b c) -> b a c", {{"c", SIZE_MAX}}));
  const Tensor half({2, 6}, {}, INFINI_DTYPE_F16);
  infiniopRearrangeDescriptor_t desc = nullptr;
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE,
            infiniopCreateRearrangeFromPatternDescriptor(handle.handle, &desc, half.desc, src.desc,
                                                         "... -> ...", nullptr, 0));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopCreateRearrangeFromPatternDescriptor(handle.handle, &desc, half.desc, half.desc,
                                                         "... -> ...", nullptr, 1));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopCreateRearrangeFromPatternDescriptor(handle.handle, nullptr, half.desc,
                                                         half.desc, "... -> ...", nullptr, 0));
}

}  // namespace
}  // namespace infini::test
