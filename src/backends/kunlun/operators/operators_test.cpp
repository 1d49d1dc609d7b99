// Operators on the emulated XPU: right and clean under every interleaving, faults survived, what is declined told with its reason.
#include "backends/kunlun/test_support.h"
#include "harness/operator_check.h"
#include "harness/operator_problem.h"

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
