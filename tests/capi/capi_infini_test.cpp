// infini.h: names, one-call functions and plans in words.
#include "infini.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

std::string last_error() { return infiniGetLastErrorString(); }

TEST(CapiNames, EveryTypeHasANameAndASizeAndIsFoundByIt) {
  for (int i = 1; i < 20; ++i) {
    const auto dtype = static_cast<infiniDtype_t>(i);
    infiniDtype_t found = INFINI_DTYPE_INVALID;
    EXPECT_GT(infiniDtypeSize(dtype), 0u) << i;
    EXPECT_OK(infiniDtypeFromName(infiniDtypeName(dtype), &found));
    EXPECT_EQ(dtype, found);
  }
  infiniDtype_t found = INFINI_DTYPE_F32;
  EXPECT_OK(infiniDtypeFromName("bfloat16", &found));
  EXPECT_EQ(INFINI_DTYPE_BF16, found);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniDtypeFromName("f31", &found));
  EXPECT_EQ(INFINI_DTYPE_INVALID, found);
  EXPECT_NE(std::string::npos, last_error().find("\"f31\"")) << last_error();
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniDtypeFromName(nullptr, &found));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniDtypeFromName("f32", nullptr));
  for (const int wrong : {-1, 0, 20, 99}) {
    EXPECT_EQ(0u, infiniDtypeSize(static_cast<infiniDtype_t>(wrong)));
    EXPECT_STREQ("invalid", infiniDtypeName(static_cast<infiniDtype_t>(wrong)));
  }
}

TEST(CapiNames, DevicesAreFoundByTheirOwnNamesAndPlatformsAreHints) {
  infiniDevice_t found = INFINI_DEVICE_CPU;
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i) {
    EXPECT_OK(infiniDeviceFromName(infiniDeviceName(static_cast<infiniDevice_t>(i)), &found));
    EXPECT_EQ(i, found);
  }
  EXPECT_STREQ("unknown", infiniDeviceName(INFINI_DEVICE_TYPE_COUNT));
  for (const char* platform : {"cuda", "gpu"}) {
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniDeviceFromName(platform, &found));
    EXPECT_EQ(INFINI_DEVICE_TYPE_COUNT, found);
    EXPECT_NE(std::string::npos, last_error().find("\"nvidia\"")) << last_error();
  }
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniDeviceFromName("toaster", &found));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniDeviceFromName(nullptr, &found));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniDeviceFromName("cpu", nullptr));
}

TEST(CapiOneCall, CopyTakesAnyStridesOnBothSides) {
  const Handle handle;
  const size_t shape[] = {2, 3};
  const ptrdiff_t flipped[] = {-3, 1}, columns[] = {1, 2};
  const int32_t x[] = {1, 2, 3, 4, 5, 6};
  for (const infiniopHandle_t device : {handle.handle, infiniopHandle_t{nullptr}}) {
    int32_t y[6] = {};
    EXPECT_OK(infiniCopy(device, y, columns, x + 3, flipped, 2, shape, INFINI_DTYPE_I32, nullptr));
    EXPECT_EQ((std::vector<int32_t>{4, 1, 5, 2, 6, 3}), std::vector<int32_t>(y, y + 6));
  }
}

TEST(CapiOneCall, TransposeOrdersAxesAsNumPyDoes) {
  const size_t shape[] = {2, 3, 4}, axes[] = {1, 2, 0}, twice[] = {1, 1, 0}, outside[] = {1, 2, 3};
  std::vector<uint16_t> x(24), y(24), all(24);
  std::iota(x.begin(), x.end(), uint16_t{0});
  EXPECT_OK(
      infiniTranspose(nullptr, y.data(), x.data(), 3, shape, axes, INFINI_DTYPE_U16, nullptr));
  EXPECT_OK(
      infiniTranspose(nullptr, all.data(), x.data(), 3, shape, nullptr, INFINI_DTYPE_U16, nullptr));
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 3; ++j)
      for (size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(x[(i * 3 + j) * 4 + k], y[(j * 4 + k) * 2 + i]);
        EXPECT_EQ(x[(i * 3 + j) * 4 + k], all[(k * 3 + j) * 2 + i]);
      }
  for (const size_t* wrong : {twice, outside}) {
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniTranspose(nullptr, y.data(), x.data(), 3, shape, wrong,
                                                       INFINI_DTYPE_U16, nullptr));
    EXPECT_EQ(0u, last_error().find("axes[")) << last_error();
  }
  EXPECT_OK(
      infiniTranspose(nullptr, y.data(), x.data(), 0, nullptr, nullptr, INFINI_DTYPE_U16, nullptr));
  EXPECT_EQ(x[0], y[0]);
}

TEST(CapiOneCall, MatmulHasItsOwnWorkspace) {
  // Rectangular, and large enough for a kernel that packs.
  const size_t m = 70, n = 90, k = 110;
  std::vector<double> a(m * k), b(k * n), c(m * n, 2.0);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 7);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 5) - 2;
  const ptrdiff_t transposed[] = {1, static_cast<ptrdiff_t>(k)};  // b is stored as [n, k]
  EXPECT_OK(infiniMatmul(nullptr, c.data(), nullptr, a.data(), nullptr, b.data(), transposed, m, n,
                         k, INFINI_DTYPE_F64, 2.0, 0.5, nullptr));
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < k; ++l) sum += a[i * k + l] * b[j * k + l];
      ASSERT_EQ(2 * sum + 1, c[i * n + j]) << i << "," << j;
    }
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE,
            infiniMatmul(nullptr, c.data(), nullptr, a.data(), nullptr, b.data(), nullptr, 2, 2, 2,
                         INFINI_DTYPE_I32, 1, 0, nullptr));
}

std::string explained(const InfiniopDescriptor* desc, infiniExplainFormat_t format) {
  size_t needed = 0;
  EXPECT_OK(infiniExplain(desc, format, nullptr, 0, &needed));
  std::string text(needed, '?');
  EXPECT_OK(infiniExplain(desc, format, text.data(), text.size(), nullptr));
  EXPECT_EQ('\0', text.back());
  EXPECT_EQ(needed - 1, std::strlen(text.c_str()));
  text.pop_back();
  return text;
}

TEST(CapiExplain, TellsWhatThePlanCommandTells) {
  const Handle handle;
  const Tensor dst({2, 3}, {1, 2}), src({2, 3});
  const RearrangeOp op(handle, dst, src);
  const std::string text = explained(op.desc, INFINI_EXPLAIN_TEXT);
  EXPECT_NE(std::string::npos, text.find("writes      24 B")) << text;
  EXPECT_NE(std::string::npos, text.find("  kernel      ")) << text;
  const std::string json = explained(op.desc, INFINI_EXPLAIN_JSON);
  EXPECT_EQ('{', json.front());
  EXPECT_EQ('}', json.back());
  EXPECT_NE(std::string::npos, json.find("\"bytes_written\": 24")) << json;
  EXPECT_NE(std::string::npos, json.find("\"candidates\": [")) << json;

  const Tensor square({4, 4});
  infiniopGemmDescriptor_t gemm = nullptr;
  ASSERT_OK(
      infiniopCreateGemmDescriptor(handle.handle, &gemm, square.desc, square.desc, square.desc));
  EXPECT_NE(std::string::npos, explained(gemm, INFINI_EXPLAIN_JSON).find("\"flops\": 128"));
  EXPECT_OK(infiniopDestroyGemmDescriptor(gemm));

  infiniopAddDescriptor_t add = nullptr;
  ASSERT_OK(
      infiniopCreateAddDescriptor(handle.handle, &add, square.desc, square.desc, square.desc));
  EXPECT_NE(std::string::npos, explained(add, INFINI_EXPLAIN_TEXT).find("c = a + b"));
  EXPECT_NE(std::string::npos, explained(add, INFINI_EXPLAIN_JSON).find("\"bytes_read\": 128"));
  EXPECT_OK(infiniopDestroyAddDescriptor(add));
}

TEST(CapiExplain, CutsWhatDoesNotFitAndRefusesTheRest) {
  const Handle handle;
  const Tensor t({2, 3});
  const RearrangeOp op(handle, t, t);
  char small[8] = "1234567";
  size_t needed = 0;
  EXPECT_OK(infiniExplain(op.desc, INFINI_EXPLAIN_JSON, small, 4, &needed));
  EXPECT_EQ(3u, std::strlen(small));
  EXPECT_EQ('5', small[4]);
  EXPECT_GT(needed, 8u);
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniExplain(op.desc, INFINI_EXPLAIN_JSON, nullptr, 4, &needed));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniExplain(op.desc, static_cast<infiniExplainFormat_t>(2), small, 4, &needed));
  infiniopRearrangeBatchDescriptor_t batch = nullptr;
  ASSERT_OK(infiniopCreateRearrangeBatchDescriptor(handle.handle, &batch, 1, &t.desc, &t.desc));
  EXPECT_EQ(INFINI_STATUS_NOT_IMPLEMENTED,
            infiniExplain(batch, INFINI_EXPLAIN_TEXT, small, sizeof small, nullptr));
  EXPECT_STREQ("", small);
  EXPECT_OK(infiniopDestroyRearrangeBatchDescriptor(batch));
}

}  // namespace
}  // namespace infini::test
