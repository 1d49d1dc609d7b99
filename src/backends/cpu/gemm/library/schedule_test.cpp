// Laws of what libraries are given: C is covered, and the cut does not know of threads.
#include "backends/cpu/gemm/library/schedule.h"

#include <gtest/gtest.h>

#include "backends/cpu/gemm/law_test.h"
#include "base/dtype.h"

namespace infini::cpu::library {
namespace {

TEST(LibrarySchedule, CoversEveryProduct) {
  harness::Random random(44);
  int taken = 0;
  for (int i = 0; i < 400; ++i) {
    const GemmPlan plan =
        random_plan(random, i % 2 == 0 ? INFINI_DTYPE_F32 : INFINI_DTYPE_F64, 200000);
    const auto s = make_schedule(plan, {64, 256});
    if (!s) continue;
    ++taken;
    EXPECT_EQ(s->plan, s->swapped ? transposed(plan) : plan);
    EXPECT_TRUE(s->plan.n == 1 || s->plan.c.col_step == dtype_bytes(s->plan.c.dtype));
    Coverage coverage(s->plan);
    for (int64_t index = 0; index < s->blocks(); ++index) {
      const Block block = s->block(index);
      coverage.add({block.batch, block.row, block.col, block.rows, block.cols, 0, s->plan.k});
    }
    ASSERT_EQ("", coverage.wrong()) << to_string(plan);
  }
  EXPECT_GT(taken, 200);
}

TEST(LibrarySchedule, HasNoneForTypesThatNoBlasMultiplies) {
  const GemmOperand f32{INFINI_DTYPE_F32, 8, 4, 0}, f16{INFINI_DTYPE_F16, 4, 2, 0};
  EXPECT_FALSE(make_schedule({1, 2, 2, 2, f32, f16, f16}, {64, 256}));
  EXPECT_FALSE(make_schedule({1, 2, 2, 2, f16, f16, f16}, {64, 256}));
  EXPECT_TRUE(make_schedule({1, 2, 2, 2, f32, f32, f32}, {64, 256}));
}

}  // namespace
}  // namespace infini::cpu::library
