// Operators on the emulated XPU: right and clean under every interleaving, faults survived, what is declined told with its reason.
#include <cmath>
#include <cstring>
#include <random>

#include "backends/kunlun/operators/fused.h"
#include "backends/kunlun/test_support.h"
#include "harness/operators/operator_check.h"
#include "harness/operators/operator_problem.h"

namespace infini::kunlun {
namespace {

// One problem of every kernel: packed and not, by cores and by clusters.
constexpr const char* problems[] = {"add bf16 5x400 b_shape=400",
                                    "gelu f16 33x5 y=1,33",
                                    "cast i8 7x50 x_dtype=f64",
                                    "rms_norm f16 5x640 w_dtype=f32",
                                    "causal_softmax f32 2x4x900",
                                    "rope bf16 5x3x16",
                                    "rope f32 5x3x16 algo=neox in_place=x",
                                    "random_sample f16 2570 topk=9"};

harness::OperatorVerdict verdict_of(const char* text) {
  return harness::check(harness::parse_operator(text), 1, nullptr);
}

class KunlunOperators : public Emulated {};

// Every bit pattern may come; among others numbers that nearly cancel, denormals and the largest.
TEST(KunlunFused, IsRoundedOnce) {
  std::mt19937_64 random(5);
  const auto draw = [&](uint64_t least_field, uint64_t fields) {
    const uint64_t field = least_field + random() % fields, zeros = random() % 50;
    return double_of((random() & 0x800fffffffffffffu & ~((uint64_t{1} << zeros) - 1)) | field
                                                                                            << 52);
  };
  const auto same = [](auto a, auto b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
  };
  for (int i = 0; i < 300000; ++i) {
    const double x = i % 3 == 0   ? draw(0, 2048)
                     : i % 3 == 1 ? draw(1022, 3)
                                  : draw(0, 4),
                 a = i % 3 == 0 ? draw(0, 2048) : draw(1022, 3),
                 b = i % 3 == 0   ? draw(0, 2048)
                     : i % 6 == 1 ? -x * a * (1 + 0x1p-52 * static_cast<double>(random() % 3))
                                  : draw(0, i % 3 == 1 ? 2048 : 4);
    ASSERT_TRUE(same(std::fma(x, a, b), fused(x, a, b))) << x << " " << a << " " << b;
    const auto fx = static_cast<float>(x), fa = static_cast<float>(a), fb = static_cast<float>(b);
    ASSERT_TRUE(same(std::fma(fx, fa, fb), fused(fx, fa, fb))) << fx << " " << fa << " " << fb;
  }
}

TEST_F(KunlunOperators, AreCleanUnderManySeeds) {
  for (uint64_t seed = 1; seed <= 8; ++seed)
    for (const char* text : problems) {
      xpu_emu_seed(seed);
      const auto verdict = verdict_of(text);
      EXPECT_TRUE(verdict.passed) << verdict.message;
      EXPECT_EQ(0, xpu_emu_violations()) << text << "\n" << all_violations();
    }
}

TEST_F(KunlunOperators, SurviveEveryFailure) {
  for (const char* text : problems) {
    int failures = 0;
    for (int64_t nth = 1; nth < 200; ++nth) {
      xpu_emu_clear();
      xpu_emu_fail_call(nth);
      const auto verdict = verdict_of(text);
      const bool reached = xpu_emu_calls() >= nth;
      xpu_emu_fail_call(0);
      EXPECT_EQ(0, xpu_emu_violations()) << text << "\n" << all_violations();
      expect_no_leaks();
      if (!reached) break;
      failures += !verdict.passed;
    }
    EXPECT_GT(failures, 5) << text;
    EXPECT_TRUE(verdict_of(text).passed);
  }
}

TEST_F(KunlunOperators, SayWhatTheyDecline) {
  for (const char* text : {"silu f64 2x3", "rms_norm f64 2x3", "causal_softmax f64 2x3"}) {
    const auto verdict = verdict_of(text);
    EXPECT_NE(std::string::npos, verdict.message.find("no exponential and no root of f64")) << text;
  }
  EXPECT_TRUE(verdict_of("div f64 2x3").passed);
}

}  // namespace
}  // namespace infini::kunlun
