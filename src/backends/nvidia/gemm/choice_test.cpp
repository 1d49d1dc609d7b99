// Which candidate is taken for each of many products on the GPUs whose models we know: golden files, the same on every
// machine.
#include <gtest/gtest.h>

#include <string>

#include "backends/nvidia/gemm/estimates.h"
#include "harness/choices.h"
#include "harness/gemm_problem.h"

namespace infini::nvidia {
namespace {

// What an H200 says of itself, and an A100.
GemmMachine h200() {
  return {{132, 1.98, 4916, 50 << 20, 228 << 10, true, true, 1070e3, 66.9e3}, 90, false};
}
GemmMachine a100() {
  return {{108, 1.41, 1555, 40 << 20, 164 << 10, true, false, 312e3, 19.5e3}, 80, false};
}

std::string choose(const GemmMachine& machine, const std::string& text) {
  const auto p = harness::parse_gemm(text);
  return cheapest_gemm(machine, fold_batch(make_gemm_plan(p.c, p.a, p.b)));
}

TEST(GemmChoice, IsTheGoldenOneOnAnH200) {
  EXPECT_EQ("", harness::compare_choices(GEMM_CHOICES_FOLDER "/h200.txt",
                                         [](const auto& text) { return choose(h200(), text); }));
}

TEST(GemmChoice, IsTheGoldenOneOnAnA100) {
  EXPECT_EQ("", harness::compare_choices(GEMM_CHOICES_FOLDER "/a100.txt",
                                         [](const auto& text) { return choose(a100(), text); }));
}

// Without the library, too, everything has somebody who can.
TEST(GemmChoice, NeverHasNobody) {
  for (const char* text : {"gemm f32 m=1 n=1 k=1", "gemm f64 m=3 n=5000 k=7 a=t c=t",
                           "gemm bf16 m=100 n=100 k=100 a=300,3"}) {
    const auto p = harness::parse_gemm(text);
    EXPECT_LT(estimate_generic(h200(), make_gemm_plan(p.c, p.a, p.b)).nanoseconds, 1e12) << text;
  }
}

}  // namespace
}  // namespace infini::nvidia
