// Dot products of pairs of bf16, in every form of the operands.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/gemm/gemm.h"
#include "base/environment.h"
#include "base/float_formats.h"
#include "base/threads/thread_count.h"
#include "harness/gemm/gemm_cases.h"
#include "harness/gemm/gemm_check.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"

namespace infini {
namespace {

class DotsOfPairs : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::has_dpbf16() || environment("INFINI_CPU_ISA") != nullptr)
      GTEST_SKIP() << "this processor lacks AVX512-BF16";
  }
};

std::vector<char> run(const harness::GemmProblem& p, const std::vector<uint16_t>& a,
                      const std::vector<uint16_t>& b) {
  const Gemm op(current_device(), p.c, p.a, p.b, {}, {.wanted = "dots"});
  EXPECT_STREQ("dots", op.kernel()->candidate());
  EXPECT_NE("", op.kernel()->schedule());
  std::vector<char> c(static_cast<size_t>(byte_range(p.c).end));
  void* workspace = nullptr;
  EXPECT_EQ(0, posix_memalign(&workspace, 64, op.workspace_bytes() + 64));
  std::memset(workspace, 0xff, op.workspace_bytes());  // NaN, where nothing was written
  op.run(workspace, op.workspace_bytes(), c.data(), a.data(), b.data(), 1.5, 0, nullptr);
  free(workspace);
  return c;
}

TEST_F(DotsOfPairs, ReadAndWriteInEveryWay) {
  setenv("INFINI_CPU_GEMM", "dots", 1);
  reread_environment();
  std::vector<std::string> texts = {"m=3 n=40 k=1 b=t",
                                    "m=1 n=1 k=5",
                                    "m=16 n=33 k=70 a=t b=t",
                                    "m=5 n=90 k=1500 b=t out=f32 beta=1",
                                    "m=70 n=4 k=513",
                                    "m=2 n=77 k=1024 b=1,1100 c=t alpha=2 beta=-1",
                                    "m=9 n=50 k=64 batch=3 b=t",
                                    "m=13 n=300 k=2100 a=5000,2 b=t c=3,60"};
  for (int m = 1; m <= 16; ++m)
    texts.push_back("m=" + std::to_string(m) + " n=" + std::to_string(17 + m) +
                    " k=" + std::to_string(509 + m) + " b=t");
  for (const std::string& text : texts) {
    const auto problem = harness::parse_gemm("gemm bf16 " + text);
    EXPECT_STREQ("dots",
                 Gemm(current_device(), problem.c, problem.a, problem.b).kernel()->candidate())
        << text;
    for (const auto values : {harness::GemmValues::random, harness::GemmValues::integers}) {
      const auto verdict = harness::check(problem, values, 3);
      EXPECT_TRUE(verdict.passed) << verdict.message;
    }
  }
  unsetenv("INFINI_CPU_GEMM");
  reread_environment();
}

TEST_F(DotsOfPairs, KeepNanAndInfinityInTheirPlaces) {
  constexpr int64_t m = 7, n = 67, k = 35;  // the last vector of k is mostly zeros
  const auto p = harness::parse_gemm("gemm bf16 m=7 n=67 k=35 b=t out=f32");
  std::vector<uint16_t> a(m * k, bf16_from_f32(1)), b(n * k, bf16_from_f32(2));
  a[5 * k + k - 1] = bf16_from_f32(NAN);
  a[2 * k + 3] = bf16_from_f32(-INFINITY);
  b[66 * k + k - 1] = bf16_from_f32(INFINITY);
  const std::vector<char> bytes = run(p, a, b);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float c;
      std::memcpy(&c, bytes.data() + (i * n + j) * int64_t{sizeof c}, sizeof c);
      if (i == 5 || (i == 2 && j == 66))
        ASSERT_TRUE(std::isnan(c)) << i << " " << j;
      else
        ASSERT_EQ(i == 2 ? -INFINITY : j == 66 ? INFINITY : 3.f * k, c) << i << " " << j;
    }
}

TEST_F(DotsOfPairs, GiveTheSameBitsForAnyNumberOfThreads) {
  harness::Random random(6);
  std::vector<uint16_t> a(1 << 16), b(1 << 21);
  for (auto* x : {&a, &b})
    for (uint16_t& bits : *x)
      bits = static_cast<uint16_t>(random.between(120, 134) << 7 | random.between(0, 127));
  for (const char* text : {"gemm bf16 m=12 n=900 k=2000 b=t", "gemm bf16 m=3 n=1500 k=1111 b=t",
                           "gemm bf16 m=8 n=300 k=450 b=t batch=5"}) {
    const auto p = harness::parse_gemm(text);
    set_thread_count(1);
    const auto expected = run(p, a, b);
    for (const int threads : {2, 3, 8}) {
      set_thread_count(threads);
      EXPECT_EQ(expected, run(p, a, b)) << text;
    }
    set_thread_count(0);
  }
}

}  // namespace
}  // namespace infini
