// What tensor descriptors tell of themselves.
#include <gtest/gtest.h>

#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr auto null = INFINI_STATUS_NULL_POINTER;

TEST(CapiTensorDescriptors, SayWhatTheyWereMadeOf) {
  size_t rank = 9, shape[3] = {7, 7, 7};
  ptrdiff_t strides[3] = {7, 7, 7};
  infiniDtype_t dtype = INFINI_DTYPE_INVALID;
  const Tensor plain({2, 3}, {}, INFINI_DTYPE_BF16), strided({2, 3}, {-5, 0}), scalar({});
  EXPECT_OK(infiniopGetTensorDescriptorRank(plain.desc, &rank));
  EXPECT_EQ(2u, rank);
  EXPECT_OK(infiniopGetTensorDescriptorShape(plain.desc, shape, 3));
  EXPECT_EQ(std::vector<size_t>({2, 3, 7}), std::vector<size_t>(shape, shape + 3));
  EXPECT_OK(infiniopGetTensorDescriptorStrides(plain.desc, strides, 2));
  EXPECT_EQ(std::vector<ptrdiff_t>({3, 1, 7}), std::vector<ptrdiff_t>(strides, strides + 3));
  EXPECT_OK(infiniopGetTensorDescriptorDtype(plain.desc, &dtype));
  EXPECT_EQ(INFINI_DTYPE_BF16, dtype);
  EXPECT_OK(infiniopGetTensorDescriptorStrides(strided.desc, strides, 2));
  EXPECT_EQ(std::vector<ptrdiff_t>({-5, 0, 7}), std::vector<ptrdiff_t>(strides, strides + 3));
  EXPECT_OK(infiniopGetTensorDescriptorRank(scalar.desc, &rank));
  EXPECT_EQ(0u, rank);
  EXPECT_OK(infiniopGetTensorDescriptorShape(scalar.desc, nullptr, 0));
  EXPECT_EQ(bad, infiniopGetTensorDescriptorShape(plain.desc, shape, 1));
  EXPECT_STREQ("capacity is 1; the tensor's rank is 2", infiniGetLastErrorString());
  EXPECT_EQ(null, infiniopGetTensorDescriptorShape(plain.desc, nullptr, 2));
  EXPECT_EQ(null, infiniopGetTensorDescriptorStrides(plain.desc, nullptr, 2));
  EXPECT_EQ(null, infiniopGetTensorDescriptorRank(plain.desc, nullptr));
  EXPECT_EQ(null, infiniopGetTensorDescriptorDtype(plain.desc, nullptr));
}

}  // namespace
}  // namespace infini::test
