// How a bf16 product of few rows becomes dot products in pairs: B's columns are contiguous along k, are read once, as they
// lie, and nothing of B is packed.
//
// Pieces of a few columns meet all rows of A, which take turns; the lanes' sums of a stretch of columns wait in the first
// cache. Each turn asks for its share of the stretch that follows, in the order in which that lies: memory answers one long
// row faster than lines of many in turns.
//
// A pure value. Every element of C is a chain for each lane in the order of k, and the lanes are added half to half: the bits
// depend on neither the threads nor the stretches.
#pragma once

#include "backends/cpu/gemm/target.h"

namespace infini::cpu::dots {

constexpr int64_t most_rows = 16;
constexpr int64_t line_elements = 32, piece_elements = 512;  // along k: a vector, and a piece

struct Schedule {
  GemmPlan plan;                  // as it is computed: few rows
  bool swapped = false;           // as Cᵀ = Bᵀ·Aᵀ
  int64_t turns = 1, height = 1;  // of the rows of A at a piece of B, and rows of a turn
  int64_t together = 0;           // columns of a piece
  int64_t cols = 0;               // of a stretch, which is a task
  bool far = false;               // B is beyond the second cache
  int threads = 1;
  int64_t a_bytes = 0, partial_bytes = 0,
          thread_bytes = 0;  // of packed A; of a thread's lanes, and of all that it has

  int64_t stretches() const { return (plan.n + cols - 1) / cols; }
  int64_t workspace_bytes() const;  // saturating
};

// None: not bf16, too many rows, or B's columns are not contiguous.
std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& plan);

// Of one thread that has everything at hand, for a product of the batch whose A is packed.
double cycles(const Schedule& schedule, const GemmTarget& target);
double nanoseconds(const Schedule& schedule, const GemmTarget& target);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit);

}  // namespace infini::cpu::dots
