// Laws of the blocked gemm's schedules: C is covered in the order of k, and strips, panels and sums lie in the memory that
// was asked for.
#include "backends/cpu/gemm/blocked/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/gemm/law_test.h"
#include "base/checked.h"

namespace infini::cpu::blocked {
namespace {

class Walker {
 public:
  explicit Walker(const Schedule& s) : s_(s), coverage_(s.plan) {}

  void run() {
    for (int64_t index = 0; index < s_.blocks(); ++index) {
      const Block block = s_.block(index);
      for (int64_t col = 0; col < block.cols; col += s_.region_cols)
        for (int64_t row = 0; row < block.rows; row += s_.region_rows) {
          const Block region{block.batch, block.row + row, block.col + col,
                             std::min(s_.region_rows, block.rows - row),
                             std::min(s_.region_cols, block.cols - col)};
          s_.by_rows ? run_by_rows(region) : run_by_cols(region);
          if (testing::Test::HasFatalFailure()) return;
        }
    }
    EXPECT_EQ("", coverage_.wrong());
  }

 private:
  // Panels are packed together, strips by each thread.
  void run_by_rows(const Block& region) {
    for (int64_t k = 0; k < s_.plan.k; k += s_.depth) {
      const int64_t length = std::min(s_.depth, s_.plan.k - k);
      ASSERT_LE(round_up(region.cols, s_.panel) * s_.depth * s_.bytes, s_.shared_bytes);
      for (int64_t row = 0; row < region.rows; row += s_.group) {
        const int64_t rows = std::min(s_.group, region.rows - row);
        if (s_.pack_a) {
          ASSERT_LE(s_.strips(rows) * s_.strip_step(length) * s_.bytes, s_.private_bytes);
        }
        if (!s_.direct_c) {
          ASSERT_LE(((row + rows - 1) * s_.region_cols + region.cols) * s_.bytes, s_.sum_bytes);
        }
        run_tiles({region.batch, region.row + row, region.col, rows, region.cols}, k, length);
      }
    }
  }
  // Strips are packed together, for all of k, panels by each thread.
  void run_by_cols(const Block& region) {
    for (int64_t col = 0; col < region.cols; col += s_.group) {
      const int64_t cols = std::min(s_.group, region.cols - col);
      int64_t at = 0;
      for (int64_t k = 0; k < s_.plan.k; k += s_.depth) {
        const int64_t length = std::min(s_.depth, s_.plan.k - k);
        ASSERT_LE(round_up(cols, s_.panel) * s_.depth * s_.bytes, s_.private_bytes);
        at += s_.strips(region.rows) * s_.strip_step(length);
        ASSERT_LE(at * s_.bytes, s_.shared_bytes);
        if (!s_.direct_c) {
          ASSERT_LE(((region.rows - 1) * s_.group + cols) * s_.bytes, s_.sum_bytes);
        }
        run_tiles({region.batch, region.row, region.col + col, region.rows, cols}, k, length);
      }
    }
  }
  void run_tiles(const Block& x, int64_t k, int64_t length) {
    for (int64_t strip = 0; strip < s_.strips(x.rows); ++strip) {
      const int64_t row = s_.strip_row(x.rows, strip), rows = s_.strip_row(x.rows, strip + 1) - row;
      ASSERT_GE(rows, 1);
      ASSERT_LE(rows, s_.strip);
      for (int64_t col = 0; col < x.cols; col += s_.panel)
        coverage_.add(
            {x.batch, x.row + row, x.col + col, rows, std::min(s_.panel, x.cols - col), k, length});
    }
  }

  const Schedule& s_;
  Coverage coverage_;
};

void expect_laws(GemmTarget target, const GemmPlan& plan) {
  const Schedule s = make_schedule(target, plan);
  EXPECT_EQ(s.plan, s.swapped ? transposed(plan) : plan);
  EXPECT_LE(s.threads, target.threads);
  EXPECT_EQ(0, s.threads % s.team) << "teams are whole";
  EXPECT_EQ(0, s.panel % s.lanes);
  EXPECT_TRUE(s.pack_a || s.plan.a.col_step == s.bytes) << "rows of A are read as they lie";
  EXPECT_EQ(s.team_bytes, s.buffers * s.shared_bytes + s.team * s.private_bytes +
                              (s.by_rows ? 1 : s.team) * s.sum_bytes);
  for (const int64_t bytes : {s.shared_bytes, s.private_bytes, s.sum_bytes})
    EXPECT_EQ(0, bytes % 64);
  target.threads = target.threads % 7 + 1;
  EXPECT_EQ(s.depth, make_schedule(target, plan).depth) << "the bits depend on it";
  Walker(s).run();
}

TEST(BlockedSchedule, CoversEveryProductWithinItsWorkspace) {
  harness::Random random(45);
  for (int i = 0; i < 200; ++i)
    for (const auto dtype : {INFINI_DTYPE_F32, INFINI_DTYPE_F64, INFINI_DTYPE_F16}) {
      const GemmPlan plan = random_plan(random, dtype, 100000);
      ASSERT_NO_FATAL_FAILURE(expect_laws(random_target(random), plan)) << to_string(plan);
      ASSERT_FALSE(testing::Test::HasFailure()) << to_string(plan);
    }
}

// Whoever computes nothing is asked for it: k of 0 leaves C = beta·C.
TEST(BlockedSchedule, IsThereForNothingToo) {
  harness::Random random(3);
  const GemmOperand x{INFINI_DTYPE_F32, 8, 4, 0};
  const Schedule s = make_schedule(random_target(random), {1, 2, 2, 0, x, x, x});
  EXPECT_EQ(1, s.depth);
}

}  // namespace
}  // namespace infini::cpu::blocked
