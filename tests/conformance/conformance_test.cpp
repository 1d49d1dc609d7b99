// Conformance: every curated case and many random ones, bit for bit, on the device named by
// INFINI_TEST_DEVICE. Skips with the reason when there is no such device, unless
// INFINI_TEST_DEVICE_REQUIRED says that there must be one.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/device_kind.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/check.h"
#include "harness/rearrange/padded_problems.h"
#include "infinirt.h"

namespace infini {
namespace {

constexpr int64_t most_emulated_elements = 40000;

class Conformance : public testing::Test {
 protected:
  void SetUp() override {
    const char* name = std::getenv("INFINI_TEST_DEVICE");
    const infiniDevice_t kind = device_kind_from_name(name ? name : "cpu");
    ASSERT_NE(INFINI_DEVICE_TYPE_COUNT, kind) << "INFINI_TEST_DEVICE is " << name;
    char words[512];
    ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtDescribeDevice(kind, 0, words, sizeof words));
    if (infinirtSetDevice(kind, 0) == INFINI_STATUS_SUCCESS) return;
    ASSERT_EQ(nullptr, std::getenv("INFINI_TEST_DEVICE_REQUIRED")) << words;
    GTEST_SKIP() << words;
  }
  // No emulator.
  static bool is_quick() {
    infiniDevice_t kind{};
    EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtGetDevice(&kind, nullptr));
    return kind == INFINI_DEVICE_CPU || kind == INFINI_DEVICE_NVIDIA;
  }
};

// An emulator takes a second for what a chip does in a millisecond: with a candidate forced, which is done for each of
// them, it leaves out the larger ones. WideRearrangements has some of that size.
TEST_F(Conformance, CuratedRearrangements) {
  const bool all = is_quick() || std::getenv("INFINI_GPU_REARRANGE") == nullptr;
  for (const std::string& text : harness::curated_rearrange_cases()) {
    const auto problem = harness::parse_rearrange(text);
    if (!all && element_count(problem.dst) > most_emulated_elements) continue;
    const auto verdict = harness::check(problem);
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }
}

// What any backend has a kernel for; on an emulator only the smaller ones.
TEST_F(Conformance, LayoutsThatKernelsAreMadeFor) {
  std::vector<std::string> texts = harness::layout_cases();
  for (const std::string& text : harness::long_run_cases()) texts.push_back(text);
  for (const std::string& text : texts) {
    const auto problem = harness::parse_rearrange(text);
    if (!is_quick() && element_count(problem.dst) > most_emulated_elements) continue;
    const auto verdict = harness::check(problem);
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }
}

// INFINI_TEST_RANDOM asks for another number of problems.
TEST_F(Conformance, RandomRearrangements) {
  const char* wanted = std::getenv("INFINI_TEST_RANDOM");
  const int count = wanted ? std::atoi(wanted) : 3000;
  ASSERT_GT(count, 0);
  harness::Random random(42);
  for (int n = 0; n < count; ++n) {
    const auto problem =
        harness::random_mixed_problem(random, 16, n % 20 == 0 ? 1 << 20 : 12 << 10);
    const auto verdict = harness::check(problem, static_cast<uint64_t>(n));
    ASSERT_TRUE(verdict.passed) << verdict.message;
  }
}

// What lies beyond the caches runs by other kernels: long runs, stores past the caches, several threads. On an emulator it is less.
TEST_F(Conformance, WideRearrangements) {
  const bool quick = is_quick();
  harness::Random random(47);
  for (int n = 0; n < (quick ? 120 : 40); ++n) {
    const auto problem =
        harness::random_mixed_problem(random, 128 << 10, quick ? 16 << 20 : 1 << 20);
    const auto verdict = harness::check(problem, static_cast<uint64_t>(n));
    ASSERT_TRUE(verdict.passed) << verdict.message;
  }
}

TEST_F(Conformance, OnACreatedStream) {
  infinirtStream_t stream = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtStreamCreate(&stream));
  harness::Random random(43);
  for (int n = 0; n < 200; ++n) {
    const auto verdict =
        harness::check(harness::random_mixed_problem(random, 16, 16 << 10), 7, stream);
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtStreamDestroy(stream));
}

}  // namespace
}  // namespace infini
