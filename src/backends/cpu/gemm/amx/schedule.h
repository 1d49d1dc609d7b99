// How a 16-bit product goes on the matrix unit of Intel processors (AMX).
//
// C is cut into blocks that are tasks, and k into pieces of fixed length; sums are f32 in the order of k, so that the bits
// do not depend on the number of threads. A task packs its part of B and, unless the tiles can be read where they lie, of A.
//
// f16 is the sum of two bf16, exactly, and so is a product of f16 of four products of bf16. The small ones are summed
// first, so that they round away no more than the large ones: a piece of k starts from zero, and is then added to those
// before it.
//
// A pure value.
#pragma once

#include "backends/cpu/gemm/target.h"

namespace infini::cpu::amx {

struct Schedule {
  GemmPlan plan;  // as it is computed
  bool swapped = false, f16 = false;
  bool reads_a = false;        // in place
  int64_t rows = 0, cols = 0;  // of a task's block of C
  int64_t depth = 0;           // of a piece of k
  int threads = 1;
  int64_t a_plane = 0, b_plane = 0,
          scratch_bytes = 0;  // elements of packed planes; a thread's bytes

  int64_t row_blocks() const { return (plan.m + rows - 1) / rows; }
  int64_t col_blocks() const { return (plan.n + cols - 1) / cols; }
  int64_t tasks() const { return plan.batch * row_blocks() * col_blocks(); }
  // f16: its high and low bits, and once more what is finite of them, where something is not.
  int64_t planes() const { return f16 ? 4 : 1; }
  int64_t workspace_bytes() const { return threads * scratch_bytes; }
};

// None: not of 16 bits, or nothing to multiply.
std::optional<Schedule> make_schedule(const GemmPlan& plan, int threads);

double nanoseconds(const Schedule& schedule, const GemmTarget& target);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit);

}  // namespace infini::cpu::amx
