// Gemm conformance: curated and random products on the device named by INFINI_TEST_DEVICE; integers
// exactly, random values within the bound of harness/gemm_check.h.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/device_kind.h"
#include "harness/gemm_cases.h"
#include "harness/gemm_check.h"
#include "infinirt.h"

namespace infini {
namespace {

using harness::GemmValues;

class GemmConformance : public testing::Test {
 protected:
  void SetUp() override {
    const char* name = std::getenv("INFINI_TEST_DEVICE");
    const infiniDevice_t kind = device_kind_from_name(name ? name : "cpu");
    ASSERT_NE(INFINI_DEVICE_TYPE_COUNT, kind) << "INFINI_TEST_DEVICE is " << name;
    if (infinirtSetDevice(kind, 0) == INFINI_STATUS_SUCCESS) return;
    ASSERT_EQ(nullptr, std::getenv("INFINI_TEST_DEVICE_REQUIRED")) << infiniGetLastErrorString();
    GTEST_SKIP() << infiniGetLastErrorString();
  }

  void expect_right(const harness::GemmProblem& problem, uint64_t seed) {
    for (GemmValues values : {GemmValues::integers, GemmValues::random}) {
      const auto verdict = harness::check(problem, values, seed);
      if (may_decline(problem, verdict)) return;
      EXPECT_TRUE(verdict.passed) << verdict.message;
      if (verdict.error_over_bound > worst_) worst_ = verdict.error_over_bound;
    }
  }

  // Chips without f64 matrix units may say so; nothing else is optional.
  static bool may_decline(const harness::GemmProblem& problem, const harness::GemmVerdict& verdict) {
    return problem.a.dtype == INFINI_DTYPE_F64 &&
           verdict.message.find("backend declines") != std::string::npos;
  }

  void TearDown() override { std::printf("largest error / bound: %.3f\n", worst_); }
  double worst_ = 0;
};

TEST_F(GemmConformance, CuratedProducts) {
  for (const std::string& text : harness::curated_gemm_cases())
    expect_right(harness::parse_gemm(text), 1);
}

TEST_F(GemmConformance, RandomProducts) {
  harness::Random random(44);
  for (int n = 0; n < 600 && !HasFailure(); ++n)
    expect_right(harness::random_gemm(random, n % 10 == 0 ? 200 : 40), static_cast<uint64_t>(n));
}

TEST_F(GemmConformance, OnACreatedStream) {
  infinirtStream_t stream = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtStreamCreate(&stream));
  harness::Random random(45);
  for (int n = 0; n < 50; ++n) {
    const auto problem = harness::random_gemm(random);
    const auto verdict = harness::check(problem, GemmValues::random, 7, stream);
    if (may_decline(problem, verdict)) continue;
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtStreamDestroy(stream));
}

}  // namespace
}  // namespace infini
