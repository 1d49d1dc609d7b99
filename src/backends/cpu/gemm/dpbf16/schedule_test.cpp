// Laws of the schedules of pairs: C is covered, and everything lies in the memory that was asked for.
#include "backends/cpu/gemm/dpbf16/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cpu/gemm/dpbf16/kernels.h"
#include "backends/cpu/gemm/law_test.h"
#include "base/checked.h"

namespace infini::cpu::dpbf16 {
namespace {

constexpr auto bf16 = INFINI_DTYPE_BF16;

GemmTarget target(int threads) {
  static const Machine facts = profile("zen4");
  return target_of(facts, Isa::avx512, threads);
}

// One strip of a task's block against all panels, as the kernel goes.
void run_strip(const Schedule& s, const Block& block, int64_t row, int64_t k, int64_t depth,
               int64_t& rows, Coverage& coverage) {
  const int64_t widest = ceil_div(std::min(block.cols, s.width), lanes);
  rows = strip_rows(s, block.rows, row, widest);
  ASSERT_GE(rows, 1);
  ASSERT_LE(rows, most_rows(widest));
  if (s.packs_a) {
    ASSERT_EQ(row / packed_rows, (row + rows - 1) / packed_rows);
    ASSERT_LE((row / packed_rows + 1) * s.panel_bytes(packed_rows), s.a_bytes);
  }
  for (int64_t col = 0; col < block.cols; col += s.width) {
    const int64_t cols = std::min(s.width, block.cols - col);
    ASSERT_LE(ceil_div(cols, lanes), most_vectors);
    ASSERT_LE((col / s.width + 1) * s.panel_bytes(s.width), s.b_bytes);
    ASSERT_LE(ceil_div(depth, 2) * s.width * 4, s.panel_bytes(s.width));
    const int64_t last_sum = s.in_one_piece()
                                 ? (rows - 1) * s.width + round_up(cols, lanes)
                                 : (row + rows - 1) * s.sum_row() + col + round_up(cols, lanes);
    ASSERT_LE(last_sum * int64_t{sizeof(float)}, s.sum_bytes);
    coverage.add({block.batch, block.row + row, block.col + col, rows, cols, k, depth});
  }
}

void expect_laws(const GemmPlan& plan, int threads) {
  const auto made = make_schedule(target(threads), plan);
  ASSERT_TRUE(made) << to_string(plan);
  const Schedule& s = *made;
  EXPECT_EQ(s.plan, s.swapped ? transposed(plan) : plan);
  EXPECT_EQ(0, s.width % lanes);
  EXPECT_TRUE(s.depth % 2 == 0 || s.depth == s.plan.k) << "pairs are never torn";
  EXPECT_TRUE(s.packs_a || s.plan.k == 1 || s.plan.a.col_step == 2) << "pairs lie side by side";
  EXPECT_LE(s.threads, threads);
  EXPECT_EQ(s.workspace_bytes(), s.threads * (s.a_bytes + s.b_bytes + s.sum_bytes));
  for (const int64_t bytes : {s.a_bytes, s.b_bytes, s.sum_bytes}) EXPECT_EQ(0, bytes % 64);
  Coverage coverage(s.plan);
  for (int64_t task = 0; task < s.tasks(); ++task) {
    const Block block = s.block(task);
    for (int64_t k = 0; k < s.plan.k; k += s.depth)
      for (int64_t row = 0, rows = 1; row < block.rows; row += rows)
        ASSERT_NO_FATAL_FAILURE(
            run_strip(s, block, row, k, std::min(s.depth, s.plan.k - k), rows, coverage))
            << to_string(plan);
  }
  EXPECT_EQ("", coverage.wrong()) << to_string(plan) << "\n" << threads << " threads";
}

TEST(Dpbf16Schedule, CoversEveryProductWithinItsWorkspace) {
  harness::Random random(31);
  for (int i = 0; i < 400; ++i)
    expect_laws(random_plan(random, bf16, 200000), static_cast<int>(random.between(1, 20)));
}

TEST(Dpbf16Schedule, CutsWhatIsLarge) {
  for (const int threads : {1, 2, 16}) {
    expect_laws({1, 1300, 700, 5001, {bf16, 1400, 2, 0}, {bf16, 10002, 2, 0}, {bf16, 1400, 2, 0}},
                threads);
    expect_laws({1, 16, 4096, 4096, {bf16, 8192, 2, 0}, {bf16, 8192, 2, 0}, {bf16, 2, 8192, 0}},
                threads);
    expect_laws({3, 64, 2500, 2050, {bf16, 5000, 2, 320000}, {bf16, 2, 128, 0}, {bf16, 5000, 2, 0}},
                threads);
  }
}

TEST(Dpbf16Schedule, KeepsToTheSecondCache) {
  const auto s = make_schedule(
      target(2), {1, 4096, 4096, 4096, {bf16, 8192, 2, 0}, {bf16, 8192, 2, 0}, {bf16, 8192, 2, 0}});
  EXPECT_LE(s->b_bytes, 600 << 10);
}

// Many small products are shared, few are not.
TEST(Dpbf16Schedule, SharesByTime) {
  const auto threads = [](int64_t batch) {
    return make_schedule(
               target(2),
               {batch, 168, 1, 4, {bf16, 2, 2, 336}, {bf16, 2, 336, 1344}, {bf16, 2, 2, 8}})
        ->threads;
  };
  EXPECT_EQ(2, threads(112));
  EXPECT_EQ(1, threads(1));
}

TEST(Dpbf16Schedule, IsForBf16Alone) {
  const GemmOperand f32{INFINI_DTYPE_F32, 8, 4, 0}, x{bf16, 4, 2, 0};
  EXPECT_FALSE(make_schedule(target(1), {1, 2, 2, 2, f32, f32, f32}));
  EXPECT_TRUE(make_schedule(target(1), {1, 2, 2, 2, f32, x, x}));
  EXPECT_FALSE(make_schedule(target(1), {1, 2, 2, 0, f32, x, x}));
}

}  // namespace
}  // namespace infini::cpu::dpbf16
