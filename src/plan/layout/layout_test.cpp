// Layouts: what is accepted, what is refused and with which status.
#include "plan/layout/layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace infini {
namespace {

constexpr ptrdiff_t smallest = INT64_MIN, largest = INT64_MAX;

infiniStatus_t status_of(std::vector<size_t> shape, std::vector<ptrdiff_t> strides,
                         infiniDtype_t dtype = INFINI_DTYPE_F32) {
  try {
    make_layout(dtype, shape.size(), shape.data(), strides.empty() ? nullptr : strides.data());
    return INFINI_STATUS_SUCCESS;
  } catch (const Error& error) {
    return error.status();
  }
}

TEST(Layout, CountsThatOverflowAreBadShapes) {
  const size_t big = size_t{1} << 40;
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, status_of({big, big}, {0, 0}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, status_of({size_t{1} << 63}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, status_of({SIZE_MAX}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, status_of({INT64_MAX, 2}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, status_of({size_t{1} << 32, size_t{1} << 32}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE,
            status_of({(size_t{1} << 42) + 1, size_t{1} << 22}, {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, status_of({size_t{1} << 62}, {}, INFINI_DTYPE_F16));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({size_t{1} << 62}, {}, INFINI_DTYPE_U8));
}

TEST(Layout, SpansThatOverflowAreBadStrides) {
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of({2}, {smallest}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of({2}, {largest}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, status_of({3}, {largest / 4}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES,
            status_of({2, 2}, {largest / 4 - 100, largest / 4 - 100}, INFINI_DTYPE_F64));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES,
            status_of({2, 2}, {-(largest / 4 - 9), largest / 4 - 9}, INFINI_DTYPE_F32));
}

TEST(Layout, DimsOfSizeOneAndEmptyTensorsIgnoreStrides) {
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({1, 3, 1}, {smallest, 1, largest}));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({0, SIZE_MAX / 2}, {smallest, largest}));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of({INT64_MAX, INT64_MAX, 0}, {}));
}

TEST(Layout, RankAndDtypeAreChecked) {
  EXPECT_EQ(INFINI_STATUS_SUCCESS, status_of(std::vector<size_t>(64, 1), {}));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, status_of(std::vector<size_t>(65, 1), {}));
  EXPECT_THROW(make_layout(INFINI_DTYPE_F32, size_t{1} << 31, nullptr, nullptr), Error);
  EXPECT_THROW(make_layout(INFINI_DTYPE_F32, 1, nullptr, nullptr), Error);
  EXPECT_NO_THROW(make_layout(INFINI_DTYPE_F32, 0, nullptr, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, status_of({2}, {}, INFINI_DTYPE_INVALID));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, status_of({2}, {}, static_cast<infiniDtype_t>(20)));
}

TEST(Layout, ContiguityIgnoresDimsOfSizeOne) {
  const size_t shape[] = {2, 1, 3};
  const ptrdiff_t strides[] = {3, 77, 1}, gapped[] = {4, 3, 1};
  EXPECT_TRUE(is_contiguous(make_layout(INFINI_DTYPE_F32, 3, shape, strides)));
  EXPECT_FALSE(is_contiguous(make_layout(INFINI_DTYPE_F32, 3, shape, gapped)));
}

TEST(Layout, RangesAndWords) {
  const size_t shape[] = {2, 3};
  const ptrdiff_t strides[] = {-3, 1};
  const Layout layout = make_layout(INFINI_DTYPE_F32, 2, shape, strides);
  EXPECT_EQ(-12, byte_range(layout).begin);
  EXPECT_EQ(12, byte_range(layout).end);
  EXPECT_EQ("f32 2x3 strides -3,1", to_string(layout));
}

}  // namespace
}  // namespace infini
