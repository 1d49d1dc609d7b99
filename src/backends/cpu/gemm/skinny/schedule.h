// How a skinny product goes (decoding, matrix times vector): a few rows of A against a large B. It is bound by memory: B is
// read once, in its own type, in the order in which it lies.
//
// A pure value. Where k is cut the cuts depend on the plan alone, and their sums are added in order: the bits do not depend
// on the threads.
#pragma once

#include "backends/cpu/gemm/target.h"
#include "base/dtype.h"

namespace infini::cpu::skinny {

constexpr int64_t most_rows_across = 8, most_rows_along = 16;
constexpr int64_t piece_bytes = 1024;  // of B, read along its columns in pieces

enum class Walk { none, across, along };  // the contiguous direction of B: its rows or its columns
Walk walk_of(const GemmPlan& plan);       // of a plan with few rows

struct Schedule {
  GemmPlan plan;  // as it is computed: few rows
  bool swapped = false;
  Walk walk = Walk::none;
  int64_t bytes = 4;          // of an element of the arithmetic
  int64_t cut = 0, cuts = 1;  // of k: what is summed by itself
  bool shares_cuts = false;   // the threads have cuts of k, not columns
  bool pieces = false;        // B's columns are read in pieces that stay in L1
  bool packs_a = true;
  bool far = false;          // B comes from memory
  bool wide_pieces = false;  // of more columns, which fewer rows meet at once
  int64_t turns = 1;         // of the rows of A at a piece of B
  int64_t together = 1;      // products of the batch
  int threads = 1;
  int64_t cols = 0;  // of a stretch, which is a task
  int64_t sum_row = 0, a_row = 0, a_bytes = 0, partial_bytes = 0, scratch_bytes = 0;

  int64_t cols_together() const { return wide_pieces ? wide_piece_cols : piece_cols; }
  int64_t piece() const { return piece_bytes / dtype_bytes(plan.b.dtype); }  // of k
  int64_t stretches() const { return (plan.n + cols - 1) / cols; }
  int64_t workspace_bytes() const;  // saturating
};

// None: too many rows, B has no contiguous direction, or there is nothing to multiply.
std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& plan);

// Of one thread that has everything at hand, for a product of the batch whose A is packed.
double cycles(const Schedule& schedule, const GemmTarget& target);
double nanoseconds(const Schedule& schedule, const GemmTarget& target);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit);

}  // namespace infini::cpu::skinny
