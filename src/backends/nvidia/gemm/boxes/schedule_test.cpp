// The box gemm schedule: its law, its boxes and its choice, without a GPU.
#include "backends/nvidia/gemm/boxes/schedule.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "backends/nvidia/gemm/tile_law_test.h"
#include "harness/gemm/gemm_cases.h"

namespace infini::nvidia {
namespace {

void expect_law(const GemmPlan& given, const BoxLaunch& launch) {
  expect_law(given, launch, launch.tile,
             [&](uint32_t block) { return place_tile(launch.gemm, block, launch.tile); });
}

// The engine finds element (x, k) of a matrix where the plan has it, and can step there.
void expect_operand(const BoxOperand& box, const GemmOperand& x, int64_t x_step, int64_t k_step,
                    int64_t x_extent, int64_t k_extent, int64_t batch) {
  EXPECT_EQ(0, box.outer_step % 16);
  EXPECT_EQ(0, box.batch_step % 16);
  EXPECT_EQ(x_extent, box.k_inside ? box.outer : box.inner);
  EXPECT_EQ(k_extent, box.k_inside ? box.inner : box.outer);
  EXPECT_EQ(box.batch, x.batch_step == 0 ? 1 : batch);
  const auto place = [&](int64_t i, int64_t k, int64_t b) {
    return (box.k_inside ? k : i) * 2 + (box.k_inside ? i : k) * box.outer_step +
           (box.batch > 1 ? b * box.batch_step : 0);
  };
  for (const int64_t i : {int64_t{0}, x_extent - 1})
    for (const int64_t k : {int64_t{0}, k_extent - 1})
      EXPECT_EQ(i * x_step + k * k_step + (batch - 1) * x.batch_step, place(i, k, batch - 1));
}

TEST(BoxGemm, KeepsTheLawOnRandomProducts) {
  harness::Random random(5);
  int accepted = 0;
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    const auto problem = harness::random_gemm(random, i % 20 == 0 ? 150 : 40);
    const GemmPlan given = make_gemm_plan(problem.c, problem.a, problem.b);
    if (given.batch * given.m * given.n * given.k == 0) continue;
    const auto launch = make_box_gemm(given, processors);
    if (!launch) continue;
    ++accepted;
    expect_law(given, *launch);
    const GemmPlan plan = launch->swapped ? transposed(given) : given;
    expect_operand(launch->a, plan.a, plan.a.row_step, plan.a.col_step, plan.m, plan.k, plan.batch);
    expect_operand(launch->b, plan.b, plan.b.col_step, plan.b.row_step, plan.n, plan.k, plan.batch);
    EXPECT_GE(launch->gemm.pieces * box_depth, plan.k);
  }
  EXPECT_GT(accepted, 100);
}

// As the engine's documentation has it: some of the address bits from 4 on are xored with those
// from 7 on, as many as a line has vectors.
TEST(BoxGemm, FindsElementsWhereTheEnginePutsThem) {
  for (const bool k_inside : {true, false})
    for (const int extent : {16, 32, 64}) {
      const int line = k_inside ? 128 : extent * 2;
      std::set<uint32_t> places;
      for (int x = 0; x < extent; ++x)
        for (int k = 0; k < box_depth; ++k) {
          const auto plain = static_cast<uint32_t>(k_inside ? x * line + k * 2 : k * line + x * 2);
          const uint32_t mask = static_cast<uint32_t>(line) / 16 - 1;
          EXPECT_EQ(plain ^ ((plain >> 7 & mask) << 4), place_in_box(extent, x, k, k_inside));
          places.insert(place_in_box(extent, x, k, k_inside));
        }
      EXPECT_EQ(places.size(), static_cast<size_t>(extent) * box_depth);
      EXPECT_LT(*places.rbegin(), static_cast<uint32_t>(box_bytes(extent)));
    }
}

TEST(BoxGemm, PaysWhereItWasMeasuredFaster) {
  for (const char* text :
       {"gemm f16 m=128 n=128 k=128", "gemm bf16 m=256 n=256 k=256", "gemm f16 m=512 n=512 k=512",
        "gemm f16 m=512 n=512 k=512 a=t b=t", "gemm bf16 m=512 n=512 k=512 c=t",
        "gemm f16 m=64 n=96 k=128 batch=32", "gemm f16 m=16 n=2048 k=1024 out=f32"})
    EXPECT_TRUE(box_gemm_pays(plan_of(text), processors)) << text;
  for (const char* text :
       {"gemm f16 m=64 n=64 k=64", "gemm f16 m=640 n=640 k=640", "gemm f16 m=512 n=512 k=768",
        "gemm f16 m=1 n=4096 k=4096", "gemm bf16 m=128 n=128 k=64 batch=256"})
    EXPECT_FALSE(box_gemm_pays(plan_of(text), processors)) << text;
}

TEST(BoxGemm, DeclinesWhatTheEngineCannotRead) {
  for (const char* text : {"gemm f32 m=64 n=64 k=64", "gemm f16 m=64 n=64 k=65",
                           "gemm f16 m=64 n=65 k=64", "gemm f16 m=64 n=64 k=64 a=128,2",
                           "gemm f16 m=64 n=64 k=2000", "gemm f16 m=8 n=8 k=8 a=0,1"})
    EXPECT_FALSE(make_box_gemm(plan_of(text), processors)) << text;
  EXPECT_TRUE(make_box_gemm(plan_of("gemm f16 m=63 n=64 k=65 a=72,1"), processors));
}

}  // namespace
}  // namespace infini::nvidia
