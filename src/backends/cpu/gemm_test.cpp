// CPU gemm: every instruction set and every candidate passes; bits do not depend on the threads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cpu/isa.h"
#include "base/thread_count.h"
#include "harness/gemm_cases.h"
#include "harness/gemm_check.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"

namespace infini {
namespace {

// Sets an environment variable for a while.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

void expect_curated_and_random(int count) {
  for (const std::string& text : harness::curated_gemm_cases()) {
    const auto verdict = harness::check(harness::parse_gemm(text), harness::GemmValues::random, 3);
    ASSERT_TRUE(verdict.passed) << verdict.message;
  }
  harness::Random random(99);
  for (int n = 0; n < count; ++n) {
    const auto verdict = harness::check(harness::random_gemm(random), harness::GemmValues::integers);
    ASSERT_TRUE(verdict.passed) << verdict.message;
  }
}

class EveryIsa : public testing::TestWithParam<const char*> {};

TEST_P(EveryIsa, Passes) {
  const Setting isa("INFINI_CPU_ISA", GetParam());
  if (std::strcmp(cpu::isa_name(cpu::isa()), GetParam()) != 0)
    GTEST_SKIP() << "this machine has no " << GetParam();
  expect_curated_and_random(100);
}

INSTANTIATE_TEST_SUITE_P(Cpu, EveryIsa, testing::Values("portable", "neon", "avx2", "avx512"));

TEST(CpuGemm, BlockedAcceptsEverything) {
  const Setting candidate("INFINI_GEMM", "blocked");
  expect_curated_and_random(100);
}

std::vector<char> bits_of(const harness::GemmProblem& p, int threads, const std::vector<float>& a,
                          const std::vector<float>& b) {
  set_thread_count(threads);
  const Gemm op(current_device(), p.c, p.a, p.b);
  std::vector<char> c(static_cast<size_t>(byte_range(p.c).end));
  void* workspace = nullptr;
  EXPECT_EQ(0, posix_memalign(&workspace, 64, op.workspace_bytes() + 64));
  op.run(workspace, op.workspace_bytes(), c.data(), a.data(), b.data(), 1.5f, 0, nullptr);
  free(workspace);
  set_thread_count(0);
  return c;
}

TEST(CpuGemm, GivesTheSameBitsForAnyNumberOfThreads) {
  harness::Random random(5);
  std::vector<float> a(600 * 1000), b(1000 * 900);
  for (float& x : a) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
  for (float& x : b) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
  for (const char* text : {"gemm f32 m=600 n=900 k=1000", "gemm f32 m=597 n=871 k=900 b=t",
                           "gemm f32 m=3 n=900 k=1000", "gemm f32 m=7 n=900 k=1000 b=t",
                           "gemm f32 m=64 n=40 k=300 batch=20"}) {
    const auto problem = harness::parse_gemm(text);
    const auto expected = bits_of(problem, 1, a, b);
    for (int threads : {2, 3, 5, 8})
      EXPECT_TRUE(expected == bits_of(problem, threads, a, b)) << text << " on " << threads;
  }
}

}  // namespace
}  // namespace infini
