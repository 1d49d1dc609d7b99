// Laws of the schedules of skinny products: C is covered, cuts of k do not depend on the threads, and everything lies in
// the memory that was asked for.
#include "backends/cpu/gemm/skinny/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/gemm/law_test.h"
#include "base/checked.h"

namespace infini::cpu::skinny {
namespace {

// The sums of a stretch, at this column, of all rows.
void expect_sums_inside(const Schedule& s, int64_t col, int64_t cols) {
  const int64_t first = s.shares_cuts ? col : 0;
  ASSERT_LE(first + cols, s.sum_row);
  ASSERT_LE(s.partial_bytes + ((s.plan.m - 1) * s.sum_row + first + cols) * s.bytes,
            s.scratch_bytes);
}

void expect_laws(GemmTarget target, const GemmPlan& plan) {
  const auto made = make_schedule(target, plan);
  ASSERT_EQ(walk_of(with_few_rows(plan)) != Walk::none, made.has_value()) << to_string(plan);
  if (!made) return;
  const Schedule& s = *made;
  EXPECT_EQ(s.plan, s.swapped ? transposed(plan) : plan);
  EXPECT_LE(s.threads, target.threads);
  EXPECT_TRUE(s.packs_a || s.plan.a.col_step == s.bytes) << "rows of A are read as they lie";
  EXPECT_LE(s.packs_a ? s.plan.m * s.a_row * s.bytes : 0, s.a_bytes);
  EXPECT_TRUE(s.cuts == 1 || s.walk == Walk::across);
  EXPECT_EQ(s.a_bytes + (s.shares_cuts ? s.cuts : s.threads) * s.scratch_bytes,
            s.workspace_bytes());
  if (s.pieces) {
    EXPECT_LE(s.plan.m * s.cols * shape_of(target, plan).lanes * s.bytes, s.partial_bytes);
  }
  target.threads = target.threads % 7 + 1;
  EXPECT_EQ(s.cut, make_schedule(target, plan)->cut) << "the bits depend on it";
  Coverage coverage(s.plan);
  for (int64_t batch = 0; batch < s.plan.batch; ++batch)
    for (int64_t stretch = 0; stretch < s.stretches(); ++stretch) {
      const int64_t col = stretch * s.cols, cols = std::min(s.cols, s.plan.n - col);
      ASSERT_NO_FATAL_FAILURE(expect_sums_inside(s, col, cols)) << to_string(plan);
      for (int64_t k = 0; k < s.plan.k; k += s.cut)
        coverage.add({batch, 0, col, s.plan.m, cols, k, std::min(s.cut, s.plan.k - k)});
    }
  EXPECT_EQ("", coverage.wrong()) << to_string(plan);
}

TEST(SkinnySchedule, CoversEveryProductWithinItsWorkspace) {
  harness::Random random(42);
  for (int i = 0; i < 300; ++i)
    for (const auto dtype : {INFINI_DTYPE_F32, INFINI_DTYPE_F64, INFINI_DTYPE_BF16}) {
      GemmPlan plan = random_plan(random, dtype, 50000);
      if (random.one_in(2)) plan.m = std::min<int64_t>(plan.m, random.between(1, 16));
      ASSERT_NO_FATAL_FAILURE(expect_laws(random_target(random), plan));
    }
}

TEST(SkinnySchedule, CutsALongKThatManyThreadsRead) {
  harness::Random random(2);
  const GemmOperand c{INFINI_DTYPE_F32, 4096, 4, 0}, a{INFINI_DTYPE_F32, 16384, 4, 0};
  GemmTarget target = random_target(random);
  for (const int threads : {1, 2, 16}) {
    target.threads = threads;
    const GemmPlan plan{1, 3, 1024, 4096, c, a, c};
    EXPECT_EQ(16, make_schedule(target, plan)->cuts);
    expect_laws(target, plan);
  }
}

#if defined(__x86_64__)
// What a second thread takes over has to be worth two starts, whatever the bytes: where B is contiguous along k, 72 KB of it
// are 13 us for one thread.
TEST(SkinnySchedule, SharesByTimeAndNotByBytes) {
  const Machine facts = profile("zen5");
  const GemmTarget target = target_of(facts, Isa::avx512, 2);
  const auto threads = [&](int64_t n, int64_t k) {
    const GemmOperand c{INFINI_DTYPE_F16, 2 * n, 2, 0}, a{INFINI_DTYPE_F16, 2 * k, 2, 0},
        b{INFINI_DTYPE_F16, 2, 2 * k, 0};
    return make_schedule(target, {1, 8, n, k, c, a, b})->threads;
  };
  EXPECT_EQ(2, threads(800, 45));
  EXPECT_EQ(1, threads(4, 45));
}
#endif

}  // namespace
}  // namespace infini::cpu::skinny
