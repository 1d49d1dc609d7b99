// The stream gemm schedule: its law, its memory and its choice, without a GPU.
#include "backends/nvidia/gemm/stream/schedule.h"

#include <gtest/gtest.h>

#include "backends/gpu/gemm/skinny/law_test.h"
#include "backends/nvidia/gemm/tile_law_test.h"
#include "harness/gemm/gemm_cases.h"

namespace infini::nvidia {
namespace {

constexpr int64_t block_bytes = 48 * 1024;

void expect_fits(const GemmPlan& plan, const gpu::SkinnySchedule& s) {
  EXPECT_LE(stream_shared_bytes(s.k_inside, plan.m, s.chunk), block_bytes);
  EXPECT_EQ(0, s.part % stream_unit(s.k_inside));
  EXPECT_EQ(0, s.chunk % stream_unit(s.k_inside))
      << "a warp goes on where the chunk before has ended";
  EXPECT_LE(gpu::skinny_workspace(plan, s), 32 << 20);
}

TEST(StreamGemm, KeepsTheLawOnRandomProducts) {
  harness::Random random(8);
  int accepted = 0, divided = 0;
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    const auto problem = harness::random_gemm(random, i % 10 == 0 ? 900 : 40);
    GemmPlan plan = make_gemm_plan(problem.c, problem.a, problem.b);
    if (plan.n < plan.m) plan = transposed(plan);
    if (plan.batch * plan.m * plan.n * plan.k == 0) continue;
    const auto s = make_stream_schedule(plan, processors);
    if (!s) continue;
    ++accepted;
    divided += s->parts > 1;
    for (const bool ragged : {false, true})
      gpu::expect_skinny_law(plan, *s, stream_columns(s->k_inside, ragged));
    expect_fits(plan, *s);
  }
  EXPECT_GT(accepted, 300);
  EXPECT_GT(divided, 20);
}

TEST(StreamGemm, FitsForAnyNumberOfRows) {
  for (int64_t m = 1; m <= most_stream_rows; ++m)
    for (const bool turned : {false, true})
      for (const int64_t k : {64, 1000, 1792, 5000, 40000}) {  // in one chunk and in several
        GemmPlan plan = plan_of("gemm bf16 m=1 n=2000 k=64");
        plan.batch = k == 1792 ? 40 : 1;
        plan.m = m, plan.k = k;
        plan.b.row_step = turned ? 2 : 4000, plan.b.col_step = turned ? 2 * k : 2;
        const auto s = make_stream_schedule(plan, processors);
        ASSERT_TRUE(s);
        ASSERT_EQ(turned, s->k_inside);
        expect_fits(plan, *s);
      }
}

TEST(StreamGemm, PaysWhereItWasMeasuredFaster) {
  for (const char* text :
       {"gemm bf16 m=4 n=4099 k=4097", "gemm f16 m=16 n=4096 k=14333 b=t",
        "gemm bf16 m=8 n=777 k=128 batch=512 b=t", "gemm bf16 m=1 n=128 k=777 batch=128",
        "gemm bf16 m=1 n=14333 k=4096", "gemm f16 m=2 n=14333 k=4096 b=t"})
    EXPECT_TRUE(stream_gemm_pays(plan_of(text), processors)) << text;
  for (const char* text :
       {"gemm bf16 m=4 n=4096 k=4096", "gemm bf16 m=32 n=4099 k=4097", "gemm bf16 m=4 n=99 k=97",
        "gemm bf16 m=1 n=4099 k=4097", "gemm f16 m=4 n=3756 k=3 batch=100 b=t",
        "gemm f16 m=16 n=4416 k=1792 batch=8 a=28672,1,16", "gemm f16 m=16 n=3544 k=7864 b=t c=t"})
    EXPECT_FALSE(stream_gemm_pays(plan_of(text), processors)) << text;
}

TEST(StreamGemm, DeclinesWhatItCannot) {
  for (const char* text :
       {"gemm f32 m=4 n=640 k=640", "gemm f16 m=33 n=640 k=640", "gemm f16 m=2 n=30 k=40 b=60,2"})
    EXPECT_FALSE(make_stream_schedule(plan_of(text), processors)) << text;
}

}  // namespace
}  // namespace infini::nvidia
