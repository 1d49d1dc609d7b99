// Laws of the schedules of sweeps: C is covered, and sums and packed rows lie in the memory that was asked for.
#include "backends/cpu/gemm/sweep/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/gemm/law_test.h"
#include "base/checked.h"

namespace infini::cpu::sweep {
namespace {

void expect_laws(const GemmTarget& target, const GemmPlan& plan) {
  const auto made = make_schedule(target, plan);
  const GemmPlan few = with_few_rows(plan);
  ASSERT_EQ(few.n > 1 && few.b.col_step == dtype_bytes(few.b.dtype), made.has_value())
      << to_string(plan);
  if (!made) return;
  const Schedule& s = *made;
  const KernelShape& shape = shape_of(target, plan);
  EXPECT_EQ(s.plan, s.swapped ? transposed(plan) : plan);
  EXPECT_LE(s.threads, target.threads);
  EXPECT_EQ(0, s.rows % s.group);
  EXPECT_GE(s.rows, s.plan.m);
  EXPECT_EQ(0, s.cols % s.width) << "pieces of sums are whole";
  EXPECT_LE(s.rows * s.plan.k * shape.bytes, s.a_bytes);
  EXPECT_EQ(0, s.a_bytes % 64);
  EXPECT_EQ(s.rows * s.cols * shape.bytes, s.thread_bytes);
  EXPECT_EQ(s.a_bytes + s.threads * s.thread_bytes, s.workspace_bytes());
  Coverage coverage(s.plan);
  for (int64_t batch = 0; batch < s.plan.batch; ++batch)
    for (int64_t stretch = 0; stretch < s.stretches(); ++stretch) {
      const int64_t col = stretch * s.cols, cols = std::min(s.cols, s.plan.n - col);
      ASSERT_LE(s.rows * round_up(cols, s.width) * shape.bytes, s.thread_bytes);
      for (int64_t k = 0; k < s.plan.k; k += depth)
        coverage.add({batch, 0, col, s.plan.m, cols, k, std::min(depth, s.plan.k - k)});
    }
  EXPECT_EQ("", coverage.wrong()) << to_string(plan);
}

TEST(SweepSchedule, CoversEveryProductWithinItsWorkspace) {
  harness::Random random(41);
  for (int i = 0; i < 200; ++i)
    for (const auto dtype : {INFINI_DTYPE_F32, INFINI_DTYPE_F64, INFINI_DTYPE_F16})
      ASSERT_NO_FATAL_FAILURE(
          expect_laws(random_target(random), random_plan(random, dtype, 50000)));
}

TEST(SweepSchedule, HasNoneForWorkspacesThatCannotBe) {
  harness::Random random(1);
  const GemmOperand x{INFINI_DTYPE_F32, 4, 4, 0}, b{INFINI_DTYPE_F32, 8, 4, 0};
  EXPECT_FALSE(make_schedule(random_target(random), {1, 2, 2, int64_t{1} << 46, x, x, b}));
}

}  // namespace
}  // namespace infini::cpu::sweep
