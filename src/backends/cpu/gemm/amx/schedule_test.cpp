// Laws of the matrix unit's schedules: C is covered by blocks of tiles, and planes and sums lie in the memory that was
// asked for.
#include "backends/cpu/gemm/amx/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/gemm/amx/kernels.h"
#include "backends/cpu/gemm/law_test.h"
#include "base/checked.h"

namespace infini::cpu::amx {
namespace {

// One task, as the kernel goes.
void run_task(const Schedule& s, int64_t index, Coverage& coverage) {
  const int64_t batch = index / (s.row_blocks() * s.col_blocks()),
                top = index / s.col_blocks() % s.row_blocks() * s.rows,
                left = index % s.col_blocks() * s.cols;
  const int64_t rows = std::min(s.rows, s.plan.m - top), cols = std::min(s.cols, s.plan.n - left);
  ASSERT_GT(rows, 0);
  ASSERT_GT(cols, 0);
  const int64_t sums = (s.scratch_bytes - s.planes() * (s.a_plane + s.b_plane) * 2) /
                       (block_elements * int64_t{sizeof(float)});
  for (int64_t k = 0; k < s.plan.k; k += s.depth) {
    const int64_t length = std::min(s.depth, s.plan.k - k), groups = ceil_div(length, group);
    if (!s.reads_a) {
      ASSERT_LE(round_up(rows, side) * groups * group, s.a_plane);
    }
    ASSERT_LE(ceil_div(cols, side) * panel_elements(groups), s.b_plane);
    int64_t block_index = 0;
    for (int64_t row = 0; row < rows; row += block)
      for (int64_t col = 0; col < cols; col += block, ++block_index)
        coverage.add({batch, top + row, left + col, std::min(block, rows - row),
                      std::min(block, cols - col), k, length});
    ASSERT_LE(2 + (s.plan.k <= s.depth ? 0 : block_index), sums);
  }
}

void expect_laws(const GemmPlan& plan, int threads) {
  const auto made = make_schedule(plan, threads);
  ASSERT_TRUE(made) << to_string(plan);
  const Schedule& s = *made;
  EXPECT_EQ(s.plan, s.swapped ? transposed(plan) : plan);
  EXPECT_LE(s.threads, threads);
  EXPECT_EQ(0, s.depth % group);
  if (s.reads_a) {
    EXPECT_TRUE(s.plan.a.col_step == 2 && s.plan.m % side == 0 && s.plan.k % group == 0)
        << "tiles lie whole in A's rows";
  }
  if (s.f16) {
    EXPECT_EQ(s.depth, make_schedule(plan, 1)->depth) << "the bits depend on it";
  }
  Coverage coverage(s.plan);
  for (int64_t task = 0; task < s.tasks(); ++task)
    ASSERT_NO_FATAL_FAILURE(run_task(s, task, coverage)) << to_string(plan);
  EXPECT_EQ("", coverage.wrong()) << to_string(plan) << "\n" << threads << " threads";
}

TEST(AmxSchedule, CoversEveryProductWithinItsWorkspace) {
  harness::Random random(43);
  for (int i = 0; i < 150; ++i)
    for (const auto dtype : {INFINI_DTYPE_F16, INFINI_DTYPE_BF16})
      ASSERT_NO_FATAL_FAILURE(
          expect_laws(random_plan(random, dtype, 100000), static_cast<int>(random.between(1, 20))));
}

TEST(AmxSchedule, IsForSixteenBitsAlone) {
  const GemmOperand f32{INFINI_DTYPE_F32, 8, 4, 0}, x{INFINI_DTYPE_F16, 4, 2, 0};
  EXPECT_FALSE(make_schedule({1, 2, 2, 2, f32, f32, f32}, 1));
  EXPECT_TRUE(make_schedule({1, 2, 2, 2, f32, x, x}, 1));
  EXPECT_FALSE(make_schedule({1, 2, 2, 0, f32, x, x}, 1));
}

}  // namespace
}  // namespace infini::cpu::amx
