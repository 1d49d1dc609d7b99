// How a sweep goes: some rows of A against a B whose rows are contiguous. B is read once, in its own type, a few long rows
// at a time, while the sums of all rows wait in the second cache. (Tiles would keep their sums in registers and walk down B
// in short pieces of rows, which memory answers at half its speed.)
//
// A pure value. Every element of C is one chain in the order of k, wherever the columns are cut.
#pragma once

#include "backends/cpu/gemm/target.h"

namespace infini::cpu::sweep {

constexpr int64_t depth = most_sweep_depth;  // rows of B that meet the sums at once
constexpr int64_t packed_depth = 64;         // elements of a row of A that are packed at a time

struct Schedule {
  GemmPlan plan;         // as it is computed: few rows
  bool swapped = false;  // as Cᵀ = Bᵀ·Aᵀ
  int64_t group = 0;     // rows of A that are packed together
  int64_t rows = 0;      // of A, in whole groups
  int64_t width = 0;     // columns of a piece of sums
  int64_t cols = 0;      // of a stretch, which is a task
  int threads = 1;
  int64_t a_bytes = 0, thread_bytes = 0;  // of packed A, and of a thread's sums

  int64_t stretches() const { return (plan.n + cols - 1) / cols; }
  int64_t workspace_bytes() const;  // saturating
};

// None: B's rows are not contiguous, or there is nothing to multiply.
std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& plan);

// Of one thread that has everything at hand, for a product of the batch.
double cycles(const Schedule& schedule, const GemmTarget& target);
double nanoseconds(const Schedule& schedule, const GemmTarget& target);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit);

}  // namespace infini::cpu::sweep
