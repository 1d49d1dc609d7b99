// How a product goes to somebody else's library: C is cut into blocks, which the threads take one by one and have computed
// by the library on that thread alone. The cut depends on the problem only, so that the bits do not depend on the number
// of threads.
//
// A pure value.
#pragma once

#include "backends/cpu/gemm/target.h"

namespace infini::cpu::library {

struct Block {  // of C
  int64_t batch, row, col, rows, cols;
};

struct Schedule {
  GemmPlan plan;  // as it is computed: C's columns are neighbours
  bool swapped = false;
  int64_t rows = 1, cols = 1;  // of a block

  int64_t down() const { return (plan.m + rows - 1) / rows; }
  int64_t across() const { return (plan.n + cols - 1) / cols; }
  int64_t blocks() const { return plan.batch * down() * across(); }
  Block block(int64_t index) const;
};

// Smaller blocks of C cost a library too much.
struct LeastBlock {
  int64_t rows, cols;
};

// None: the types are mixed or of 16 bits, or no BLAS can address an operand.
std::optional<Schedule> make_schedule(const GemmPlan& plan, const LeastBlock& least);

// `rate`: multiply-adds in a nanosecond of one thread.
double nanoseconds(const Schedule& schedule, const GemmTarget& target, double rate);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit,
                                const LeastBlock& least, double rate);

}  // namespace infini::cpu::library
