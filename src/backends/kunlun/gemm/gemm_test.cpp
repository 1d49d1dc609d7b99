// Gemm on the emulated XPU, beside gemm_conformance_test: many interleavings, threads and faults.
#include <thread>
#include <vector>

#include "backends/kunlun/test_support.h"
#include "harness/gemm/gemm_cases.h"
#include "harness/gemm/gemm_check.h"

namespace infini::kunlun {
namespace {

using harness::GemmProblem;
using harness::GemmValues;

class KunlunGemm : public Emulated {
 protected:
  // The BLAS handles are made once per device and stay; they are no leak.
  void SetUp() override {
    Emulated::SetUp();
    ASSERT_TRUE(
        harness::check(harness::parse_gemm("gemm f32 m=2 n=2 k=2"), GemmValues::integers).passed);
    xpu_emu_clear();
  }
};

// XBLAS has no f64.
bool offered(const GemmProblem& problem) { return problem.a.dtype != INFINI_DTYPE_F64; }

TEST_F(KunlunGemm, RandomCasesUnderTwentySeeds) {
  harness::Random random(6);
  infinirtStream_t stream = nullptr;
  ASSERT_OK(infinirtStreamCreate(&stream));
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    xpu_emu_seed(seed);
    for (int n = 0; n < 12; ++n) {
      const GemmProblem problem = harness::random_gemm(random, 40);
      if (!offered(problem)) continue;
      const auto verdict =
          harness::check(problem, GemmValues::random, seed, n % 2 ? stream : nullptr);
      ASSERT_TRUE(verdict.passed) << "seed " << seed << ": " << verdict.message;
    }
    ASSERT_EQ(0, xpu_emu_violations()) << "seed " << seed << "\n" << all_violations();
  }
  EXPECT_OK(infinirtStreamDestroy(stream));
}

TEST_F(KunlunGemm, DeclinesF64InWords) {
  const auto verdict =
      harness::check(harness::parse_gemm("gemm f64 m=4 n=4 k=4"), GemmValues::integers);
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(std::string::npos, verdict.message.find("declines")) << verdict.message;
}

TEST_F(KunlunGemm, ManyThreadsBorrowTheHandles) {
  std::vector<std::thread> threads;
  for (int id = 0; id < 10; ++id)
    threads.emplace_back([id] {
      ASSERT_OK(infinirtSetDevice(INFINI_DEVICE_KUNLUN, 0));
      infinirtStream_t stream = nullptr;
      ASSERT_OK(infinirtStreamCreate(&stream));
      for (int round = 0; round < 4; ++round) {
        const auto verdict = harness::check(harness::parse_gemm("gemm f16 m=20 n=30 k=40 a=80,2"),
                                            GemmValues::integers, id * 4 + round, stream);
        EXPECT_TRUE(verdict.passed) << verdict.message;
      }
      EXPECT_OK(infinirtStreamDestroy(stream));
    });
  for (auto& thread : threads) thread.join();
}

// A product whose operands all need packing: every call on its way may fail.
TEST_F(KunlunGemm, EveryCallMayFail) {
  const auto problem = harness::parse_gemm("gemm f32 m=9 n=7 k=5 a=11,2 b=16,2 c=15,2 beta=1");
  for (int64_t n = 1;; ++n) {
    ASSERT_LT(n, 300);
    xpu_emu_clear();
    xpu_emu_fail_call(n);
    const auto verdict = harness::check(problem, GemmValues::integers);
    const bool reached = xpu_emu_calls() >= n;
    xpu_emu_fail_call(0);
    EXPECT_EQ(0, xpu_emu_violations()) << "call " << n << "\n" << all_violations();
    expect_no_leaks();
    if (!reached) {
      EXPECT_TRUE(verdict.passed) << verdict.message;
      EXPECT_GT(n, 15);
      break;
    }
    const auto again = harness::check(problem, GemmValues::integers);
    ASSERT_TRUE(again.passed) << "after failure of call " << n << ": " << again.message;
  }
}

}  // namespace
}  // namespace infini::kunlun
