// How a bf16 product is multiplied in pairs: a pure value, made of the plan and the number of threads.
//
// C is cut into blocks that are tasks. A task packs its columns of B, a piece of k at a time, into
// panels of pairs that stay in the second cache, and multiplies all of its rows by them; A is read where
// it lies if its pairs lie side by side, else packed, too. Sums wait between pieces of k.
//
// Every element of C is one chain in the order of pairs of k, wherever the cuts are: the bits depend on
// neither the threads nor the blocks.
#pragma once

#include "backends/cpu/gemm/target.h"

namespace infini::cpu::dpbf16 {

constexpr int64_t packed_rows = 16;  // of A, in a panel of their own

struct Block {  // of C, a task
  int64_t batch, row, col, rows, cols;
};

struct Schedule {
  GemmPlan plan;         // as it is computed
  bool swapped = false;  // as Cᵀ = Bᵀ·Aᵀ
  bool packs_a = false;
  int64_t rows = 0, cols = 0;  // of a task's block of C
  int64_t depth = 0;           // of a piece of k, even unless it is all of it
  int64_t width = 0;           // columns of a panel of B
  int threads = 1;
  int64_t a_bytes = 0, b_bytes = 0, sum_bytes = 0;  // of a thread: its packed A and B, and its sums

  int64_t down() const;    // blocks, one below the other
  int64_t across() const;  // and side by side
  int64_t tasks() const { return plan.batch * down() * across(); }
  Block block(int64_t task) const;
  bool in_one_piece() const { return depth >= plan.k; }
  int64_t panels() const;                               // of a whole block
  int64_t panel_bytes(int64_t width) const;             // of a whole piece of k
  int64_t sum_row() const { return panels() * width; }  // elements
  int64_t thread_bytes() const { return a_bytes + b_bytes + sum_bytes; }
  int64_t workspace_bytes() const { return threads * thread_bytes(); }
};

// The rows of the strip that begins at `row`, of so many, against a panel of so many vectors: strips are of nearly equal
// height, and stay within a panel of a packed A.
int64_t strip_rows(const Schedule& schedule, int64_t rows, int64_t row, int64_t vectors);

// None: not bf16, or nothing to multiply.
std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& plan);

// Of one thread that has everything at hand, for the whole batch; the blocks do not matter.
double cycles(const Schedule& schedule, const GemmTarget& target);

double nanoseconds(const Schedule& schedule, const GemmTarget& target);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit);

}  // namespace infini::cpu::dpbf16
