// The small gemm schedule: its law, its words and its choice, without a GPU.
#include "backends/nvidia/gemm/small/schedule.h"

#include <gtest/gtest.h>

#include <vector>

#include "backends/nvidia/gemm/tile_law_test.h"
#include "base/dtype.h"
#include "harness/gemm/gemm_cases.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::nvidia {
namespace {

void expect_law(const GemmPlan& given) {
  const auto launch = make_small_gemm(given, processors);
  ASSERT_TRUE(launch.has_value());
  expect_law(given, *launch, launch->tile,
             [&](uint32_t block) { return place_tile(launch->gemm, block, launch->tile); });
}

// Every word that may be fetched lies at a multiple of its size and inside the operand's lines.
void expect_whole_words(const SmallOperand& x, uint32_t bits, int extent, int k, int64_t bytes) {
  const int unit = unit_of(bits, 0);
  const int64_t inner_step = x.k_inside ? x.k_step : x.x_step,
                outer_step = x.k_inside ? x.x_step : x.k_step, inner = x.k_inside ? k : extent;
  ASSERT_GE(unit, bytes);
  if (unit == bytes) return;
  EXPECT_TRUE(inner == 1 || inner_step == bytes);
  EXPECT_EQ(0, inner * bytes % unit);
  EXPECT_EQ(0, outer_step % unit);
  EXPECT_EQ(0, x.batch_step % unit);
}

TEST(SmallGemm, KeepsTheLawOnRandomProducts) {
  harness::Random random(3);
  for (int i = 0; i < 2000 && !HasFatalFailure(); ++i) {
    const auto problem = harness::random_gemm(random, i % 20 == 0 ? 150 : 40);
    const GemmPlan plan = make_gemm_plan(problem.c, problem.a, problem.b);
    if (plan.batch * plan.m * plan.n * plan.k == 0) continue;
    expect_law(plan);
    const auto launch = make_small_gemm(plan, processors);
    const int64_t bytes = dtype_bytes(plan.a.dtype);
    expect_whole_words(launch->gemm.a, launch->a_bits, launch->gemm.m, launch->gemm.k, bytes);
    expect_whole_words(launch->gemm.b, launch->b_bits, launch->gemm.n, launch->gemm.k, bytes);
  }
}

TEST(SmallGemm, TakesTheWidestWordThatTheBaseAllows) {
  const auto launch = make_small_gemm(plan_of("gemm f16 m=64 n=64 k=64"), processors);
  EXPECT_EQ(16, unit_of(launch->a_bits, 0x1000));
  EXPECT_EQ(8, unit_of(launch->a_bits, 0x1008));
  EXPECT_EQ(2, unit_of(launch->a_bits, 0x1002));
  const auto ragged = make_small_gemm(plan_of("gemm f16 m=64 n=64 k=66"), processors);
  EXPECT_EQ(4, unit_of(ragged->a_bits, 0x1000));
  EXPECT_EQ(16, unit_of(ragged->b_bits, 0x1000));
}

TEST(SmallGemm, PaysWhereItWasMeasuredFaster) {
  for (const char* text :
       {"gemm f16 m=8 n=8 k=8", "gemm bf16 m=64 n=64 k=64", "gemm f16 m=256 n=256 k=256",
        "gemm f16 m=64 n=96 k=128 batch=32", "gemm f32 m=64 n=64 k=64",
        "gemm f32 m=256 n=256 k=256", "gemm f64 m=64 n=64 k=64", "gemm f16 m=63 n=65 k=67",
        "gemm bf16 m=1 n=256 k=256 out=f32"})
    EXPECT_TRUE(small_gemm_pays(plan_of(text), processors)) << text;
  for (const char* text : {"gemm f16 m=512 n=512 k=512", "gemm bf16 m=128 n=128 k=64 batch=256",
                           "gemm f16 m=1 n=4096 k=4096", "gemm f32 m=512 n=512 k=512",
                           "gemm f32 m=1 n=512 k=512 b=t", "gemm f64 m=256 n=256 k=256"})
    EXPECT_FALSE(small_gemm_pays(plan_of(text), processors)) << text;
}

// Equal arithmetic means equal bits, so all that divides or orders k must be in it.
TEST(SmallGemm, ArithmeticDependsOnTheProductAndNotOnWhereAAndBLie) {
  const auto arithmetic = [](const char* text) {
    const GemmPlan plan = plan_of(text);
    return arithmetic_of(*make_small_gemm(plan, processors), plan.a.dtype);
  };
  for (const std::string size :
       {"f16 m=64 n=48 k=80", "f32 m=256 n=256 k=256", "f16 m=1 n=9 k=7 batch=3"})
    for (const char* how : {" a=t", " b=t", " a=t b=t"})
      EXPECT_EQ(arithmetic(("gemm " + size).c_str()), arithmetic(("gemm " + size + how).c_str()));
  const std::string usual = arithmetic("gemm f16 m=64 n=64 k=64");
  for (const char* text : {"gemm bf16 m=64 n=64 k=64", "gemm f16 m=64 n=64 k=64 out=f32",
                           "gemm f16 m=63 n=64 k=64", "gemm f16 m=64 n=64 k=65",
                           "gemm f16 m=64 n=64 k=64 c=t", "gemm f16 m=64 n=64 k=64 batch=2"})
    EXPECT_NE(usual, arithmetic(text)) << text;
}

TEST(SmallGemm, DeclinesWhatItsOffsetsCannotReach) {
  GemmPlan plan = plan_of("gemm f32 m=4 n=4 k=4");
  plan.a.row_step = int64_t{1} << 31;
  EXPECT_FALSE(make_small_gemm(plan, processors).has_value());
  EXPECT_FALSE(small_gemm_pays(plan, processors));
}

}  // namespace
}  // namespace infini::nvidia
