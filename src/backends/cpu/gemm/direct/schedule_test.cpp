// Laws of the direct gemm's schedules: C is covered in the order of k, and copies and sums lie in the memory that was asked
// for.
#include "backends/cpu/gemm/direct/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/gemm/law_test.h"
#include "base/dtype.h"

namespace infini::cpu::direct {
namespace {

class Walker {
 public:
  explicit Walker(const Schedule& s) : s_(s), coverage_(s.plan) {}

  void run() {
    for (int64_t task = 0; task < s_.tasks(); ++task) {
      batch_ = task / s_.parts();
      part_ = s_.part(task - batch_ * s_.parts());
      ASSERT_GT(part_.rows, 0);
      ASSERT_GT(part_.vectors, 0);
      if (s_.packs_a) {
        ASSERT_LE(part_.rows * s_.plan.k * s_.shape.bytes, s_.a_bytes);
      }
      if (s_.through_sums)
        run_through_sums();
      else
        each_piece([&](int64_t k) { run_panels(0, part_.rows, k); });
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ("", coverage_.wrong());
  }

 private:
  template <class Body>
  void each_piece(const Body& body) {
    for (int64_t k = 0; k < s_.plan.k; k += s_.depth) body(k);
  }
  // Some rows at a time, each panel through all of k.
  void run_through_sums() {
    const int64_t together = s_.rows_together();
    ASSERT_GT(together, 0);
    const int64_t room = s_.thread_bytes - s_.a_bytes - s_.b_bytes;
    for (int64_t row = 0; row < part_.rows; row += together) {
      const int64_t rows = std::min(together, part_.rows - row);
      ASSERT_LE(rows * s_.sum_row() * s_.shape.bytes, room);
      each_piece([&](int64_t k) { run_panels(row, rows, k); });
    }
  }
  void run_panels(int64_t row, int64_t rows, int64_t k) {
    const int64_t length = std::min(s_.depth, s_.plan.k - k);
    each_panel(s_, part_, [&](int64_t vectors, int64_t col) {
      const int64_t cols = std::min(vectors * s_.shape.lanes, s_.plan.n - col),
                    copied = length * vectors * s_.shape.lanes,
                    before = s_.along_rows ? col * s_.plan.k : 0;
      ASSERT_LE(vectors, most_tile_vectors);
      ASSERT_LE(vectors * s_.shape.lanes, s_.sum_row());
      if (s_.packs_b) {
        ASSERT_LE((before + copied) * s_.shape.bytes, s_.b_bytes);
      }
      const int64_t height = strip_height(s_.shape, rows, vectors);
      ASSERT_LE(height, most_rows(s_.shape, vectors));
      for (int64_t at = 0; at < rows; at += height)
        coverage_.add(
            {batch_, part_.row + row + at, col, std::min(height, rows - at), cols, k, length});
    });
  }

  const Schedule& s_;
  Coverage coverage_;
  int64_t batch_ = 0;
  Part part_{};
};

void expect_laws(GemmTarget target, const GemmPlan& plan) {
  const auto way = make_way(target, plan);
  ASSERT_TRUE(way);
  const Schedule s = make_schedule(target, *way);
  EXPECT_EQ(s.plan, s.swapped ? transposed(plan) : plan);
  EXPECT_LE(s.threads, target.threads);
  EXPECT_EQ(s.workspace_bytes(), s.threads * s.thread_bytes);
  EXPECT_TRUE(s.packs_b || s.plan.n == 1 || s.plan.b.col_step == s.shape.bytes)
      << "rows of B are read as they lie";
  EXPECT_TRUE(s.through_sums || s.plan.n == 1 || s.plan.c.col_step == s.shape.bytes)
      << "rows of C are written as they lie";
  target.threads = target.threads % 7 + 1;
  const Schedule other = make_schedule(target, *make_way(target, plan));
  EXPECT_EQ(s.depth, other.depth) << "the bits depend on it";
  EXPECT_EQ(s.split, other.split) << "and on it";
  if (s.split) {
    EXPECT_EQ(1, s.parts()) << "C is one tile";
    EXPECT_LE(s.plan.m * s.vectors, most_split_sums);
  }
  Walker(s).run();
}

TEST(DirectSchedule, CoversEveryProductWithinItsWorkspace) {
  harness::Random random(46);
  for (int i = 0; i < 300; ++i)
    for (const auto dtype : {INFINI_DTYPE_F32, INFINI_DTYPE_F64, INFINI_DTYPE_BF16}) {
      const GemmPlan plan = random_plan(random, dtype, 100000);
      ASSERT_NO_FATAL_FAILURE(expect_laws(random_target(random), plan)) << to_string(plan);
      ASSERT_FALSE(testing::Test::HasFailure()) << to_string(plan);
    }
}

TEST(DirectSchedule, WritesALargeCInTheOrderInWhichItLies) {
  harness::Random random(4);
  const GemmOperand c{INFINI_DTYPE_F32, 4000, 4, 0}, a{INFINI_DTYPE_F32, 36, 4, 0},
      turned{INFINI_DTYPE_F32, 4, 36, 0};
  for (const auto& b : {c, turned}) {
    const GemmPlan plan{1, 2300, 1000, 9, c, a, b};
    GemmTarget target = random_target(random);
    EXPECT_TRUE(make_schedule(target, *make_way(target, plan)).along_rows);
    expect_laws(target, plan);
  }
}

TEST(DirectSchedule, StoresACPastCachesThatAreSmaller) {
  harness::Random random(4);
  const GemmTarget target = random_target(random);
  const auto rows = [&](int64_t m, int64_t n, int64_t k) {
    const auto lines = [](int64_t cols) { return GemmOperand{INFINI_DTYPE_F32, 4 * cols, 4, 0}; };
    const GemmPlan plan{1, m, n, k, lines(n), lines(k), lines(n)};
    const Schedule s = make_schedule(target, *make_way(target, plan));
    EXPECT_LE(s.past_rows * s.plan.n * s.shape.bytes, s.past_bytes());
    EXPECT_GE(s.thread_bytes, s.past_bytes());
    return s.past_rows;
  };
  EXPECT_LT(0, rows(4000, 5000, 8));
  EXPECT_EQ(0, rows(4000, 5000, 60));
  EXPECT_EQ(0, rows(1000, 1000, 8));
}

// Few sums would wait for themselves.
TEST(DirectSchedule, SplitsALongKOfFewSums) {
  harness::Random random(5);
  const auto splits = [&](int64_t m, int64_t n, int64_t k) {
    const auto rows_of = [](int64_t cols) { return GemmOperand{INFINI_DTYPE_F32, 4 * cols, 4, 0}; };
    const GemmTarget target = random_target(random);
    return make_way(target, {1, m, n, k, rows_of(n), rows_of(k), rows_of(n)})->split;
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(splits(1, 4, 1000));
    EXPECT_TRUE(splits(2, 3, 1000));
    EXPECT_FALSE(splits(1, 4, 2));
    EXPECT_FALSE(splits(64, 64, 1000));
  }
}

}  // namespace
}  // namespace infini::cpu::direct
