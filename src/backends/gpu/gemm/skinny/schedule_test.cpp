// The skinny gemm schedule: its law, and that lines far apart begin alike.
#include "backends/gpu/gemm/skinny/law_test.h"
#include "base/dtype.h"
#include "harness/gemm/gemm_cases.h"

namespace infini::gpu {
namespace {

GemmPlan plan_of(const char* text) {
  const auto problem = harness::parse_gemm(text);
  return make_gemm_plan(problem.c, problem.a, problem.b);
}

// Lines that a thread takes one after the other begin at the same place between two vectors, and so
// do chunks and parts.
void expect_alike(const GemmPlan& plan, const SkinnySchedule& s) {
  const int64_t bytes = dtype_bytes(plan.b.dtype),
                line_step = s.k_inside ? plan.b.col_step : plan.b.row_step;
  EXPECT_EQ(0, s.beside() * line_step % vector_bytes);
  EXPECT_EQ(0, s.chunk % (s.k_inside ? s.across * s.vector : s.beside()));
  EXPECT_EQ(0, s.part % (s.k_inside ? s.across * s.vector : s.beside()));
  EXPECT_EQ(vector_bytes, s.vector * bytes);
}

// With every place at which lines can begin, the threads along them meet each element of the block
// once.
void expect_covered(const SkinnySchedule& s) {
  for (int shift = 0; shift < s.vector; ++shift) {
    const int64_t count = s.k_inside ? s.chunk : skinny_columns(s, shift != 0),
                  hop = int64_t{s.across} * s.vector;
    std::vector<int> visits(static_cast<size_t>(count));
    for (int x = 0; x < s.across; ++x)
      for (int64_t first = x * s.vector - shift; first < count;
           first += s.k_inside ? hop : count + hop)
        for (int64_t i = std::max<int64_t>(first, 0); i < std::min(first + s.vector, count); ++i)
          ++visits[static_cast<size_t>(i)];
    for (const int number : visits) ASSERT_EQ(1, number);
  }
}

TEST(SkinnySchedule, KeepsTheLawOnRandomProducts) {
  harness::Random random(9);
  int along = 0, across = 0, divided = 0;
  for (int i = 0; i < 4000 && !testing::Test::HasFatalFailure(); ++i) {
    const auto problem = harness::random_gemm(random, i % 10 == 0 ? 700 : 40);
    GemmPlan plan = make_gemm_plan(problem.c, problem.a, problem.b);
    if (plan.n < plan.m) plan = transposed(plan);
    if (plan.m > most_skinny_rows || plan.batch * plan.m * plan.n * plan.k == 0 || !has_lines(plan))
      continue;
    const SkinnySchedule s = make_skinny_schedule(plan);
    (s.k_inside ? along : across) += 1;
    divided += s.parts > 1;
    for (const bool ragged : {false, true}) expect_skinny_law(plan, s, skinny_columns(s, ragged));
    expect_alike(plan, s);
    expect_covered(s);
    EXPECT_LE(skinny_workspace(plan, s), 32 << 20);
  }
  EXPECT_GT(along, 100);
  EXPECT_GT(across, 100);
  EXPECT_GT(divided, 10);
}

TEST(SkinnySchedule, DividesKWhereColumnsAreFew) {
  EXPECT_GT(make_skinny_schedule(plan_of("gemm bf16 m=1 n=1024 k=8192")).parts, 8);
  EXPECT_GT(make_skinny_schedule(plan_of("gemm f32 m=8 n=64 k=8192 b=t")).parts, 4);
  EXPECT_EQ(1, make_skinny_schedule(plan_of("gemm bf16 m=1 n=1024 k=64 batch=512 b=t")).parts);
  EXPECT_EQ(1, make_skinny_schedule(plan_of("gemm bf16 m=1 n=1024 k=300")).parts);
}

TEST(SkinnySchedule, KnowsLines) {
  EXPECT_TRUE(has_lines(plan_of("gemm f16 m=2 n=30 k=40 b=37,1")));
  EXPECT_TRUE(has_lines(plan_of("gemm f16 m=2 n=30 k=40 b=1,-41")));
  EXPECT_FALSE(has_lines(plan_of("gemm f16 m=2 n=30 k=40 b=60,2")));
  EXPECT_FALSE(has_lines(plan_of("gemm f16 m=2 n=30 k=40 b=30,-1")));
}

}  // namespace
}  // namespace infini::gpu
