// What tests on a GPU share: the device named by INFINI_TEST_DEVICE, or the reason why they skip.
#pragma once

#include <cstdlib>
#include <cstring>

#include "base/device_kind.h"
#include "tests/capi/capi_support.h"

namespace infini::test {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* name = std::getenv("INFINI_TEST_DEVICE");
    kind_ = device_kind_from_name(name ? name : "nvidia");
    char words[512] = "";
    infinirtDescribeDevice(kind_, 0, words, sizeof words);
    emulated_ = std::strstr(words, "emulated") != nullptr;
    if (infinirtSetDevice(kind_, 0) == INFINI_STATUS_SUCCESS) return;
    ASSERT_EQ(nullptr, std::getenv("INFINI_TEST_DEVICE_REQUIRED")) << words;
    GTEST_SKIP() << words;
  }

  bool emulated_ = false;  // slow
  infiniDevice_t kind_ = INFINI_DEVICE_NVIDIA;
};

// Two buffers on the device and a stream of our own.
class GpuTestWithBuffers : public GpuTest {
 protected:
  explicit GpuTestWithBuffers(size_t bytes) : bytes_(bytes) {}

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_OK(infinirtMalloc(reinterpret_cast<void**>(&a_), bytes_));
    ASSERT_OK(infinirtMalloc(reinterpret_cast<void**>(&b_), bytes_));
    ASSERT_OK(infinirtStreamCreate(&stream_));
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    infinirtSetDevice(kind_, 0);
    EXPECT_OK(infinirtStreamDestroy(stream_));
    EXPECT_OK(infinirtFree(a_));
    EXPECT_OK(infinirtFree(b_));
  }

  size_t bytes_;
  float *a_ = nullptr, *b_ = nullptr;
  infinirtStream_t stream_ = nullptr;
};

}  // namespace infini::test
