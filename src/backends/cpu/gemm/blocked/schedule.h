// How the blocked gemm goes: any types and strides. Strips of A and panels of B are packed (and widened to the type of the
// arithmetic), so that the tiles read them from near caches.
//
// Each operand is packed once. Where C has enough rows, all threads pack a piece of B together and then take groups of
// rows, packing A's part for themselves; otherwise A is packed together, whole, and the threads take groups of columns. K
// is cut into pieces of fixed length and every element of C is summed in the order of k, so that the bits do not depend on
// the number of threads.
//
// A pure value.
#pragma once

#include "backends/cpu/gemm/target.h"

namespace infini::cpu::blocked {

struct Block {  // of C, for one team
  int64_t batch, row, col, rows, cols;
};

struct Schedule {
  GemmPlan plan;  // as it is computed: C's columns are neighbours where they can be
  bool swapped = false, direct_c = false, by_rows = false, pack_a = true;
  int threads = 1, team = 1;     // all threads, and those that share a block
  int64_t bytes = 4, lanes = 1;  // of an element of the arithmetic, and elements of a vector
  int64_t panel = 0, strip = 0, depth = 0;
  int64_t block_rows = 0, block_cols = 0;  // of C, for one team; all of it where there is one team
  int64_t region_rows = 0, region_cols = 0, group = 0;  // group: rows or columns of a task
  int64_t shared_bytes = 0, private_bytes = 0, sum_bytes = 0, team_bytes = 0, buffers = 1;

  int64_t blocks() const;
  Block block(int64_t index) const;
  int64_t workspace_bytes() const { return threads / team * team_bytes; }
  // Elements from strip to strip: packing may write less than a vector behind the last row.
  int64_t strip_step(int64_t length) const { return length * strip + lanes; }
  int64_t strips(int64_t rows) const { return (rows + strip - 1) / strip; }
  // Where a strip begins: their heights differ by one at most, for a last one of few rows takes as long as the others.
  int64_t strip_row(int64_t rows, int64_t index) const { return rows * index / strips(rows); }
  // A strip stays in the first cache while many panels pass by. Where there are few, it is a panel that stays, for a few
  // strips that stay in the second cache: so many.
  bool strip_stays(int64_t cols) const { return !by_rows && cols >= many_panels * panel; }
  int64_t strips_together(int64_t length) const;

  static constexpr int64_t many_panels = 8;
  static constexpr int64_t most_unpacked_cols =
      1024;  // an A that meets more is packed, even if it need not be
};

Schedule make_schedule(const GemmTarget& target, const GemmPlan& plan);

// Of one thread that has everything at hand, for the whole batch; the blocks do not matter.
double cycles(const Schedule& schedule, const GemmTarget& target);
double nanoseconds(const Schedule& schedule, const GemmTarget& target);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit);

}  // namespace infini::cpu::blocked
