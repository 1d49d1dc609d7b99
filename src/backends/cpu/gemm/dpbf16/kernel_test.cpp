// Products of pairs of bf16: the arithmetic that is stated, in every form of the operands.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
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

class Dpbf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::has_dpbf16() || environment("INFINI_CPU_ISA") != nullptr)
      GTEST_SKIP() << "this processor lacks AVX512-BF16";
  }
};

Gemm product(const harness::GemmProblem& p) {
  Gemm op(current_device(), p.c, p.a, p.b, {}, {.wanted = "dpbf16"});
  EXPECT_STREQ("dpbf16", op.kernel()->candidate());
  EXPECT_NE("", op.kernel()->schedule());
  return op;
}

std::vector<char> run(const harness::GemmProblem& p, const std::vector<uint16_t>& a,
                      const std::vector<uint16_t>& b, float alpha = 1) {
  const Gemm op = product(p);
  std::vector<char> c(static_cast<size_t>(byte_range(p.c).end));
  void* workspace = nullptr;
  EXPECT_EQ(0, posix_memalign(&workspace, 64, op.workspace_bytes() + 64));
  op.run(workspace, op.workspace_bytes(), c.data(), a.data(), b.data(), alpha, 0, nullptr);
  free(workspace);
  return c;
}

float without_denormals(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.f, x) : x;
}

// One element as the instruction computes it: of each pair the second is added first, each step is
// fused and rounded, and what is denormal counts as zero, before and after. An odd k ends with zeros.
float chain(const uint16_t* a, const uint16_t* b, int64_t b_step, int64_t k) {
  float sum = 0;
  const auto add = [&](int64_t i) {
    const float x = i < k ? without_denormals(f32_from_bf16(a[i])) : 0,
                y = i < k ? without_denormals(f32_from_bf16(b[i * b_step])) : 0;
    sum = without_denormals(std::fma(x, y, sum));
  };
  for (int64_t i = 0; i < k; i += 2) add(i + 1), add(i);
  return sum;
}

std::vector<uint16_t> random_bits(harness::Random& random, size_t count, int64_t low,
                                  int64_t high) {
  std::vector<uint16_t> x(count);
  for (uint16_t& bits : x)
    bits = static_cast<uint16_t>(random.between(low, high) << 7 | random.between(0, 127) |
                                 random.between(0, 1) << 15);
  return x;
}

void expect_the_chain(int64_t m, int64_t n, int64_t k, int64_t low, int64_t high) {
  harness::Random random(static_cast<uint64_t>(m * n + k));
  const auto a = random_bits(random, static_cast<size_t>(m * k), low, high),
             b = random_bits(random, static_cast<size_t>(k * n), low, high);
  const auto p =
      harness::parse_gemm("gemm bf16 m=" + std::to_string(m) + " n=" + std::to_string(n) +
                          " k=" + std::to_string(k) + " out=f32");
  const std::vector<char> bytes = run(p, a, b);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float c;
      std::memcpy(&c, bytes.data() + (i * n + j) * int64_t{sizeof c}, sizeof c);
      const float expected = chain(a.data() + i * k, b.data() + j, n, k);
      ASSERT_EQ(0, std::memcmp(&expected, &c, sizeof c))
          << m << "x" << n << "x" << k << " at " << i << ", " << j << ": " << expected << " and "
          << c;
    }
}

// Exponents around 1, then such that products and sums are denormal or nearly so.
TEST_F(Dpbf16, ComputesTheChainThatIsStated) {
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                {7, 70, 33},
                                {31, 17, 2},
                                {50, 100, 201},
                                {3, 40, 4100}}) {
    expect_the_chain(m, n, k, 120, 134);
    expect_the_chain(m, n, k, 55, 70);
    expect_the_chain(m, n, k, 0, 3);
  }
}

TEST_F(Dpbf16, ReadsAndWritesInEveryWay) {
  setenv("INFINI_CPU_GEMM", "dpbf16", 1);
  reread_environment();
  for (const char* text :
       {"m=256 n=256 k=256", "m=200 n=312 k=1100", "m=544 n=528 k=1056", "m=64 n=96 k=128 batch=8",
        "m=32 n=512 k=4128 b=t", "m=33 n=391 k=1057 b=t alpha=0.5", "m=320 n=96 k=544 c=t",
        "m=100 n=200 k=301 a=t", "m=64 n=48 k=64 out=f32", "m=48 n=40 k=1024 alpha=2 beta=-1",
        "m=70 n=90 k=64 a=100,1 b=111,1 c=3,300", "m=70 n=90 k=64 a=3,300 b=5,700", "m=1 n=1 k=1",
        "m=17 n=3 k=33 a=t c=t", "m=25 n=15 k=5000 b=t out=f32 beta=1", "m=3 n=1000 k=1 batch=2"}) {
    const auto problem = harness::parse_gemm(std::string("gemm bf16 ") + text);
    product(problem);
    for (const auto values : {harness::GemmValues::random, harness::GemmValues::integers}) {
      const auto verdict = harness::check(problem, values, 3);
      EXPECT_TRUE(verdict.passed) << verdict.message;
    }
  }
  unsetenv("INFINI_CPU_GEMM");
  reread_environment();
}

TEST_F(Dpbf16, KeepsNanAndInfinityInTheirPlaces) {
  constexpr int64_t n = 67, k = 35;  // odd: the last pair is half zeros
  const auto p = harness::parse_gemm("gemm bf16 m=67 n=67 k=35 out=f32");
  std::vector<uint16_t> a(n * k, bf16_from_f32(1)), b(k * n, bf16_from_f32(2));
  a[5 * k + k - 1] = bf16_from_f32(NAN);
  a[7 * k + 3] = bf16_from_f32(-INFINITY);
  b[(k - 1) * n + 66] = bf16_from_f32(INFINITY);
  const std::vector<char> bytes = run(p, a, b);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float c;
      std::memcpy(&c, bytes.data() + (i * n + j) * int64_t{sizeof c}, sizeof c);
      if (i == 5 || (i == 7 && j == 66))
        ASSERT_TRUE(std::isnan(c)) << i << " " << j;
      else
        ASSERT_EQ(i == 7 ? -INFINITY : j == 66 ? INFINITY : 2.f * k, c) << i << " " << j;
    }
}

TEST_F(Dpbf16, GivesTheSameBitsForAnyNumberOfThreads) {
  harness::Random random(6);
  const auto a = random_bits(random, 500 * 4500, 120, 134),
             b = random_bits(random, 900 * 4500, 120, 134);
  for (const char* text :
       {"gemm bf16 m=300 n=500 k=1300", "gemm bf16 m=40 n=900 k=4500 b=t",
        "gemm bf16 m=64 n=96 k=100 batch=9", "gemm bf16 m=500 n=300 k=700 a=t"}) {
    const auto p = harness::parse_gemm(text);
    set_thread_count(1);
    const auto expected = run(p, a, b, 1.5f);
    for (const int threads : {2, 3, 8}) {
      set_thread_count(threads);
      EXPECT_EQ(expected, run(p, a, b, 1.5f)) << text;
    }
    set_thread_count(0);
  }
}

}  // namespace
}  // namespace infini
