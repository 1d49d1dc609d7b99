// Laws of the schedules of dot products in pairs: C is covered in the order of k, and everything lies in the memory that was
// asked for.
#include "backends/cpu/gemm/dots/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/gemm/dots/kernels.h"
#include "backends/cpu/gemm/law_test.h"
#include "base/checked.h"

namespace infini::cpu::dots {
namespace {

// The rows of A that meet a group of columns in turns, whose lanes lie one after the other.
void expect_turns(const Schedule& s, Coverage& coverage, const Box& group, int64_t first_col) {
  const int64_t j = group.col - first_col;
  ASSERT_LE(group.cols, s.height <= wide_rows ? wide_cols : narrow_cols);
  int64_t turns = 0;
  for (int64_t row = 0; row < s.plan.m; row += s.height, ++turns) {
    const int64_t rows = std::min(s.height, s.plan.m - row);
    ASSERT_LE(rows, group.cols > narrow_cols ? wide_rows : narrow_rows);
    ASSERT_LE((j * s.plan.m + row * group.cols + rows * group.cols) * 64, s.partial_bytes);
    coverage.add({group.batch, row, group.col, rows, group.cols, group.k, group.depth});
  }
  ASSERT_EQ(s.turns, turns);
}

void expect_stretch(const Schedule& s, Coverage& coverage, int64_t batch, int64_t col) {
  const int64_t cols = std::min(s.cols, s.plan.n - col),
                sums = round_up(s.plan.m * cols, int64_t{sums_together});
  ASSERT_LE(s.partial_bytes + sums * 4, s.thread_bytes);
  ASSERT_LE(sums * 64, s.partial_bytes);
  for (int64_t k = 0; k < s.plan.k; k += piece_elements) {
    const int64_t depth = std::min(piece_elements, s.plan.k - k);
    ASSERT_LE(2 * s.plan.m * (k + round_up(depth, line_elements)), s.a_bytes);
    for (int64_t j = 0; j < cols; j += s.together)
      ASSERT_NO_FATAL_FAILURE(expect_turns(
          s, coverage, {batch, 0, col + j, 0, std::min(s.together, cols - j), k, depth}, col));
  }
}

void expect_laws(const GemmTarget& target, const GemmPlan& plan) {
  const auto made = make_schedule(target, plan);
  const GemmPlan few = with_few_rows(plan);
  const bool can =
      few.a.dtype == INFINI_DTYPE_BF16 && few.m <= most_rows && (few.k == 1 || few.b.row_step == 2);
  ASSERT_EQ(can, made.has_value()) << to_string(plan);
  if (!made) return;
  const Schedule& s = *made;
  EXPECT_EQ(s.plan, s.swapped ? transposed(plan) : plan);
  EXPECT_LE(s.threads, target.threads);
  EXPECT_EQ(0, s.a_bytes % 64);
  EXPECT_EQ(0, s.thread_bytes % 64);
  EXPECT_EQ(s.a_bytes + s.threads * s.thread_bytes, s.workspace_bytes());
  Coverage coverage(s.plan);
  for (int64_t batch = 0; batch < s.plan.batch; ++batch)
    for (int64_t stretch = 0; stretch < s.stretches(); ++stretch)
      ASSERT_NO_FATAL_FAILURE(expect_stretch(s, coverage, batch, stretch * s.cols))
          << to_string(plan);
  EXPECT_EQ("", coverage.wrong()) << to_string(plan);
}

TEST(DotsSchedule, CoversEveryProductWithinItsWorkspace) {
  harness::Random random(44);
  int made = 0;
  for (int i = 0; i < 600; ++i)
    for (const auto dtype : {INFINI_DTYPE_BF16, INFINI_DTYPE_F16}) {
      GemmPlan plan = random_plan(random, dtype, 50000);
      if (random.one_in(2)) plan.m = std::min<int64_t>(plan.m, random.between(1, 16));
      const GemmTarget target = random_target(random);
      ASSERT_NO_FATAL_FAILURE(expect_laws(target, plan));
      made += make_schedule(target, plan).has_value();
    }
  EXPECT_GT(made, 100);
}

}  // namespace
}  // namespace infini::cpu::dots
