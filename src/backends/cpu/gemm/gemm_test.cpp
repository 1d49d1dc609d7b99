// CPU gemm: every instruction set and every candidate passes; bits do not depend on the threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/gemm/library/library.h"
#include "backends/cpu/machine/isa.h"
#include "base/environment.h"
#include "base/float_formats.h"
#include "base/threads/thread_count.h"
#include "harness/gemm/gemm_cases.h"
#include "harness/gemm/gemm_check.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"

namespace infini {
namespace {

// Sets an environment variable for a while.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    setenv(name, value, 1);
    reread_environment();
  }
  ~Setting() {
    unsetenv(name_);
    reread_environment();
  }

 private:
  const char* name_;
};

void expect_curated_and_random(int count) {
  for (const std::string& text : harness::curated_gemm_cases()) {
    const auto verdict = harness::check(harness::with_odd_scales(harness::parse_gemm(text)),
                                        harness::GemmValues::random, 3);
    ASSERT_TRUE(verdict.passed) << verdict.message;
  }
  harness::Random random(99);
  for (int n = 0; n < count; ++n) {
    const auto verdict =
        harness::check(harness::random_gemm(random), harness::GemmValues::integers);
    ASSERT_TRUE(verdict.passed) << verdict.message;
  }
}

// Every way of the direct gemm, and dot products with all kinds of remainders.
TEST(CpuGemm, FindsTheWayToReadSmallProducts) {
  const struct {
    const char *text, *candidate;
  } cases[] = {
      {"gemm f32 m=40 n=3 k=512 a=t b=t",
       "direct"},  // seen from the other side, C written in columns
      {"gemm f64 m=321 n=3 k=20 a=t b=t beta=0.5", "direct"},
      {"gemm f16 m=37 n=5 k=19 a=t b=t", "direct"},       // both operands copied
      {"gemm bf16 m=601 n=25 k=3 a=t beta=1", "direct"},  // sums of more rows than a part has
      {"gemm f32 m=45 n=77 k=90 b=t c=t", "direct"},
      {"gemm f32 m=150 n=333 k=1100", "direct"},                  // B copied, k in pieces
      {"gemm f32 m=33 n=500 k=500 beta=2", "direct"},             // B in place, k in pieces
      {"gemm f32 m=700 n=70 k=2100 a=t b=t beta=0.5", "direct"},  // sums over pieces
      {"gemm f32 m=2200 n=1000 k=20", "direct"},                  // C written row by row
      {"gemm f32 m=2200 n=1003 k=7 b=t beta=0.5", "direct"},      // and all of B copied before
      {"gemm f64 m=1100 n=120 k=9 batch=9 a=t b=t", "direct"},
      {"gemm bf16 m=701 n=75 k=40 b=t beta=1", "direct"},  // sums of a few rows at a time
      {"gemm f32 m=90 n=70 k=50 batch=7 b=t", "direct"},   // a few products more than threads
      {"gemm f32 m=1 n=288 k=24", "direct"},               // low tiles of all widths
      {"gemm f64 m=2 n=123 k=10 batch=3", "direct"},
      {"gemm f32 m=2 n=70 k=58 a=t", "direct"},
      {"gemm f32 m=1 n=3 k=1 batch=32", "direct"},  // one tile for each product
      {"gemm f32 m=12 n=2 k=578 b=t", "skinny"},    // dot products
      {"gemm f32 m=1 n=15 k=79 b=t", "skinny"},
      {"gemm f32 m=1 n=203 k=21 b=t", "skinny"},           // short ones
      {"gemm f32 m=5 n=131 k=822 b=t", "skinny"},          // five and six rows at once
      {"gemm bf16 m=6 n=130 k=2050 b=t", "skinny"},        // in pieces
      {"gemm f64 m=9 n=14 k=1246 batch=8 b=t", "skinny"},  // products shared by the threads
      {"gemm bf16 m=3 n=31 k=333 batch=3 b=t", "skinny"},
      {"gemm f32 m=2 n=200 k=5300", "skinny"},           // k is cut: the threads share the cuts
      {"gemm f32 m=3 n=1500 k=720 beta=0.5", "skinny"},  // in turn, where they are few
      {"gemm f32 m=5 n=1027 k=1030",
       "sweep"},  // a group of rows, padded, and a part of two vectors
      {"gemm f32 m=64 n=2049 k=517 a=t beta=0.5", "sweep"},
      {"gemm f16 m=17 n=2065 k=1017 batch=2", "sweep"},
      {"gemm f64 m=11 n=520 k=1009 c=t", "sweep"},
      {"gemm f32 m=1027 n=9 k=1030 a=t b=t", "sweep"},  // seen from the other side
      {"gemm bf16 m=8 n=2088 k=1041 beta=1", "sweep"},
  };
  for (const auto& x : cases) {
    const Setting candidate("INFINI_CPU_GEMM", x.candidate);
    const auto problem = harness::parse_gemm(x.text);
    const auto verdict = harness::check(problem, harness::GemmValues::random, 3);
    EXPECT_TRUE(verdict.passed) << verdict.message;
    const Gemm gemm(current_device(), problem.c, problem.a, problem.b);
    EXPECT_STREQ(x.candidate, gemm.kernel()->candidate()) << x.text;
    EXPECT_NE("", gemm.kernel()->schedule()) << x.text;
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

// Every candidate that can be asked for any plain product; others may hand theirs on to it.
class EveryCandidate : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    const std::string why_not = name == "openblas" ? cpu::openblas().why_not
                                : name == "onednn" ? cpu::onednn().why_not
                                                   : "";
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    const auto p = harness::parse_gemm("gemm f32 m=100 n=110 k=120 a=t");
    const Gemm gemm(current_device(), p.c, p.a, p.b);
    EXPECT_EQ(name, gemm.kernel()->candidate());
    EXPECT_NE("", gemm.kernel()->schedule());
  }
  const Setting candidate_{"INFINI_GEMM", GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Cpu, EveryCandidate, testing::Values("onednn", "openblas", "blocked"));

TEST_P(EveryCandidate, Passes) { expect_curated_and_random(200); }

// Those that are made unasked decline what they cannot compute.
TEST(CpuGemm, ForcedCandidatesDeclineWhatTheyCannotCompute) {
  for (const char* name :
       {"direct!", "amx!", "skinny!", "sweep!", "onednn!", "openblas!", "blocked!"}) {
    SCOPED_TRACE(name);
    const Setting candidate("INFINI_GEMM", name);
    expect_curated_and_random(100);
  }
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

void expect_same_bits_for_any_number_of_threads() {
  harness::Random random(5);
  std::vector<float> a(600 * 1000), b(1100 * 1000);
  for (float& x : a) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
  for (float& x : b) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
  for (const char* text :
       {"gemm f32 m=600 n=900 k=1000",       "gemm f32 m=597 n=871 k=900 b=t",
        "gemm f32 m=3 n=900 k=1000",         "gemm f32 m=7 n=900 k=1000 b=t",
        "gemm f32 m=3 n=1000 k=1100",  // k is cut
        "gemm f32 m=8 n=1000 k=1100",        "gemm f32 m=40 n=1000 k=1100",
        "gemm f32 m=16 n=900 k=1000",        "gemm f32 m=40 n=900 k=1000",
        "gemm f32 m=100 n=900 k=1000",       "gemm f32 m=100 n=900 k=1000 b=t",
        "gemm f32 m=64 n=40 k=300 batch=20", "gemm f32 m=500 n=32 k=1100 a=t b=t",
        "gemm f32 m=200 n=300 k=1000 b=t",   "gemm f32 m=40 n=700 k=600",
        "gemm f32 m=2 n=300 k=60",           "gemm f32 m=9 n=14 k=600 batch=8 b=t",
        "gemm f32 m=600 n=1000 k=50",        "gemm f32 m=2300 n=1000 k=9 b=t",
        "gemm f32 m=5 n=400 k=2000 b=t",     "gemm f32 m=90 n=90 k=90 batch=3"}) {
    const auto problem = harness::parse_gemm(text);
    const auto expected = bits_of(problem, 1, a, b);
    for (int threads : {2, 3, 5, 8})
      EXPECT_TRUE(expected == bits_of(problem, threads, a, b)) << text << " on " << threads;
  }
}

TEST(CpuGemm, GivesTheSameBitsForAnyNumberOfThreads) {
  expect_same_bits_for_any_number_of_threads();
}
TEST_P(EveryCandidate, GivesTheSameBitsForAnyNumberOfThreads) {
  expect_same_bits_for_any_number_of_threads();
}

std::vector<float> turned(const std::vector<float>& x, int64_t rows, int64_t cols) {
  std::vector<float> result(x.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      result[static_cast<size_t>(j * rows + i)] = x[static_cast<size_t>(i * cols + j)];
  return result;
}

// The law of GemmKernel::arithmetic(), with A and B as they are and turned.
TEST(CpuGemm, OfEqualArithmeticGivesTheSameBitsWhereverItsOperandsLie) {
  harness::Random random(8);
  int equal = 0;
  for (int round = 0; round < 60; ++round) {
    const int64_t most = round % 3 == 0 ? 700 : 80;
    const bool wide = round % 4 == 1;  // then the length of pieces of k depends on how B lies
    const int64_t m = wide ? random.between(25, 80) : random.between(1, most),
                  n = wide ? 8 * m : random.between(1, most),
                  k = wide ? random.between(200, 700) : random.between(1, most);
    std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
    for (float& x : a) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
    for (float& x : b) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
    const std::string text =
        "gemm f32 m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k);
    const auto plain = harness::parse_gemm(text);
    const std::string arithmetic = Gemm(current_device(), plain.c, plain.a, plain.b).arithmetic();
    if (arithmetic.empty()) continue;
    const auto expected = bits_of(plain, 0, a, b);
    for (const char* how : {" a=t", " b=t", " a=t b=t"}) {
      const auto p = harness::parse_gemm(text + how);
      if (Gemm(current_device(), p.c, p.a, p.b).arithmetic() != arithmetic) continue;
      ++equal;
      const bool turn_a = how[1] == 'a', turn_b = std::strstr(how, "b=t") != nullptr;
      ASSERT_TRUE(expected ==
                  bits_of(p, 0, turn_a ? turned(a, m, k) : a, turn_b ? turned(b, k, n) : b))
          << text << how << ", " << arithmetic;
    }
  }
  EXPECT_GT(equal, 20);
}

// One descriptor, eight callers at once: a library whose buffers are not guarded mixes their products.
TEST_P(EveryCandidate, ServesManyCallersAtOnce) {
  const auto p = harness::parse_gemm("gemm f32 m=150 n=150 k=150");
  std::vector<float> a(150 * 150), b(150 * 150);
  harness::Random random(6);
  for (float& x : a) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
  for (float& x : b) x = static_cast<float>(random.between(-1000, 1000)) * 0.001f;
  const std::vector<char> expected = bits_of(p, 1, a, b);
  const Gemm op(current_device(), p.c, p.a, p.b);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      std::vector<char> c(expected.size()), workspace(op.workspace_bytes() + 64);
      const size_t skew = reinterpret_cast<uintptr_t>(workspace.data()) % 64;
      for (int run = 0; run < 100; ++run) {
        op.run(workspace.data() + (64 - skew), op.workspace_bytes(), c.data(), a.data(), b.data(),
               1.5f, 0, nullptr);
        wrong += c != expected;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(0, wrong);
}

// What the OpenMP of this library grants this thread.
int openmp_threads(const std::string& name) {
  const auto threads = name == "openblas" ? cpu::openblas().openmp.threads
                       : name == "onednn" ? cpu::onednn().openmp.threads
                                          : nullptr;
  return threads == nullptr ? 1 : threads();
}

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "(not set)" : value;
}
// What the host says, before any library is opened.
const std::string hosts_core = setting("OPENBLAS_CORETYPE"),
                  hosts_isa = setting("ONEDNN_MAX_CPU_ISA");

// Libraries are told the processor and kept to one thread without a trace in the host.
TEST_P(EveryCandidate, LeavesTheHostsSettingsAlone) {
  EXPECT_EQ(hosts_core, setting("OPENBLAS_CORETYPE"));
  EXPECT_EQ(hosts_isa, setting("ONEDNN_MAX_CPU_ISA"));
  const int before = openmp_threads(GetParam());
  const std::vector<float> ones(300 * 300, 1);
  for (int threads : {1, 2})
    bits_of(harness::parse_gemm("gemm f32 m=300 n=300 k=300"), threads, ones, ones);
  EXPECT_EQ(before, openmp_threads(GetParam()));
  EXPECT_EQ(hosts_core, setting("OPENBLAS_CORETYPE"));
  EXPECT_EQ(hosts_isa, setting("ONEDNN_MAX_CPU_ISA"));
}

// One NaN in A spoils its row, one infinity in B its column, and nothing else.
TEST_P(EveryCandidate, KeepsNanAndInfinityInTheirPlaces) {
  constexpr int n = 130, row = 77, col = 101;
  const auto p = harness::parse_gemm("gemm f32 m=130 n=130 k=130");
  std::vector<float> a(n * n, 1), b(n * n, 2);
  a[row * n + 3] = NAN;
  b[5 * n + col] = INFINITY;
  const std::vector<char> bytes = bits_of(p, 2, a, b);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float c;
      std::memcpy(&c, bytes.data() + (i * n + j) * sizeof c, sizeof c);
      if (i == row)
        ASSERT_TRUE(std::isnan(c)) << i << " " << j;
      else
        ASSERT_EQ(j == col ? INFINITY : 1.5f * 2 * n, c) << i << " " << j;
    }
}

#if defined(__x86_64__)
// Strips and panels of every size, one or more pieces of k, and C in every form.
TEST(CpuGemm, MatrixUnitReadsAndWritesInEveryWay) {
  if (!cpu::amx_works())
    GTEST_SKIP() << "this machine has no matrix unit, or does not let us use it";
  const Setting candidate("INFINI_GEMM", "amx!");
  const char* const cases[] = {
      "m=256 n=256 k=256",   // A in place, C rounded between the tiles
      "m=200 n=312 k=1100",  // A packed, k in pieces
      "m=544 n=528 k=1056",  // a last strip and panel alone
      "m=64 n=96 k=128 batch=8",
      "m=32 n=512 k=4128 b=t",  // seen from the other side
      "m=33 n=391 k=1056 b=t alpha=0.5",
      "m=320 n=96 k=544 c=t",
      "m=100 n=200 k=300 a=t",
      "m=64 n=48 k=64 out=f32",
      "m=48 n=40 k=1024 alpha=2 beta=-1",
      "m=70 n=90 k=64 a=100,1 b=111,1 c=3,300",  // rows that begin anywhere in a line
      "m=1 n=1 k=1",
      "m=17 n=3 k=33 a=t c=t",
  };
  for (const std::string dtype : {"bf16", "f16"})
    for (const char* text : cases) {
      const auto problem = harness::parse_gemm("gemm " + dtype + " " + text);
      EXPECT_STREQ("amx",
                   Gemm(current_device(), problem.c, problem.a, problem.b).kernel()->candidate())
          << text;
      const auto verdict = harness::check(problem, harness::GemmValues::random, 3);
      EXPECT_TRUE(verdict.passed) << verdict.message;
    }
}

// The low bits of f16 are a matrix of their own, whose zeros must not meet infinities.
TEST(CpuGemm, MatrixUnitKeepsInfinitiesOfF16InTheirPlaces) {
  if (!cpu::amx_works())
    GTEST_SKIP() << "this machine has no matrix unit, or does not let us use it";
  const Setting candidate("INFINI_GEMM", "amx!");
  constexpr int n = 130, not_a_number = 77, infinite_row = 5, infinite_col = 101;
  const auto p = harness::parse_gemm("gemm f16 m=130 n=130 k=130 out=f32");
  std::vector<float> a(n * n / 2), b(n * n / 2);  // pairs of f16
  auto *a16 = reinterpret_cast<uint16_t*>(a.data()), *b16 = reinterpret_cast<uint16_t*>(b.data());
  std::fill_n(a16, n * n, f16_from_f32(1));
  std::fill_n(b16, n * n, f16_from_f32(2));
  a16[not_a_number * n + 3] = f16_from_f32(NAN);
  a16[infinite_row * n + 7] = f16_from_f32(-INFINITY);
  b16[9 * n + infinite_col] = f16_from_f32(INFINITY);
  const std::vector<char> bytes = bits_of(p, 2, a, b);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float c;
      std::memcpy(&c, bytes.data() + (i * n + j) * sizeof c, sizeof c);
      const bool meet = i == infinite_row && j == infinite_col;  // infinities of either sign
      if (i == not_a_number || meet)
        ASSERT_TRUE(std::isnan(c)) << i << " " << j;
      else
        ASSERT_EQ(i == infinite_row   ? -INFINITY
                  : j == infinite_col ? INFINITY
                                      : 1.5f * 2 * n,
                  c)
            << i << " " << j;
    }
}

TEST(CpuGemm, MatrixUnitGivesTheSameBitsForAnyNumberOfThreads) {
  if (!cpu::amx_works())
    GTEST_SKIP() << "this machine has no matrix unit, or does not let us use it";
  const Setting candidate("INFINI_GEMM", "amx!");
  harness::Random random(6);
  std::vector<float> a(300 * 1300), b(500 * 1300);  // two numbers between 1/64 and 64 in each
  for (auto* x : {&a, &b})
    for (float& pair : *x) {
      const uint32_t bits = static_cast<uint32_t>(random.between(0x3c80, 0x427f)) << 16 |
                            static_cast<uint32_t>(random.between(0x3c80, 0x427f));
      std::memcpy(&pair, &bits, sizeof bits);
    }
  for (const char* text : {"gemm bf16 m=300 n=500 k=1300", "gemm f16 m=300 n=500 k=1300",
                           "gemm bf16 m=40 n=900 k=1200 b=t", "gemm f16 m=64 n=96 k=100 batch=9",
                           "gemm bf16 m=500 n=300 k=700 a=t"}) {
    const auto problem = harness::parse_gemm(text);
    const auto expected = bits_of(problem, 1, a, b);
    for (const int threads : {2, 3, 8})
      EXPECT_EQ(expected, bits_of(problem, threads, a, b)) << text;
  }
}
#endif

}  // namespace
}  // namespace infini
