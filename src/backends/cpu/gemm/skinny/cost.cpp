// How long a skinny product takes: B comes by once, and each of its vectors meets every row of A.
#include "backends/cpu/gemm/costs.h"
#include "backends/cpu/gemm/skinny/schedule.h"
#include "base/checked.h"

namespace infini::cpu::skinny {
namespace {

// Dot products of all rows with all columns.
double along_cycles(const Schedule& s, const GemmTarget& target) {
  const ProductCycles& costs = *target.facts->products;
  const KernelShape& shape = shape_of(target, s.plan);
  const int64_t turns = s.pieces ? s.turns : ceil_div(s.plan.m, int64_t{most_skinny_rows}),
                rows = ceil_div(s.plan.m, turns),
                cols = s.pieces ? s.cols_together() : dot_cols(static_cast<int>(rows));
  const double step = std::max(costs.fma_latency,
                               as_double(rows * cols) / vectors_per_cycle(*target.facts, shape)) /
                      (s.pieces ? costs.skinny.pieces_share : 1);
  return as_double(turns * ceil_div(s.plan.n, cols)) *
         (as_double(ceil_div(s.plan.k, shape.lanes)) * step +
          (rows == 1 ? costs.skinny.row : costs.skinny.dots));
}

// Sums of a stretch come and go between L1 and the registers, for a few rows of A and B at a time. Columns that fill no
// vector come one by one.
double across_cycles(const Schedule& s, const GemmTarget& target) {
  const KernelShape& shape = shape_of(target, s.plan);
  const double vectors = as_double(s.plan.n / shape.lanes), k = as_double(s.plan.k),
               m = as_double(s.plan.m), rest = as_double(s.plan.n % shape.lanes);
  const double read = memory_index(s.plan.b.dtype) == 0 ? 1 : 2;  // and widened
  const double deep = s.plan.m <= 2 ? 8 : 4;                      // rows of B together
  const double each = std::max(read, m / vectors_per_cycle(*target.facts, shape)) + 2 * m / deep;
  // Few sums wait for themselves.
  const double latency = vectors > 0 ? target.facts->products->fma_latency : 0;
  return k * (std::max(latency, vectors * each) + rest * (2 + m));
}

}  // namespace

double cycles(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const KernelShape& shape = shape_of(target, s.plan);
  return facts.products->skinny.call +
         finish_cycles(facts, s.plan.c, s.plan.m, s.plan.n, shape.lanes) +
         (s.walk == Walk::along ? along_cycles(s, target) : across_cycles(s, target));
}

double nanoseconds(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const auto& costs = facts.products->skinny;
  const GemmPlan& plan = s.plan;
  const double batch = as_double(plan.batch), all = footprint(plan);
  const double packed =
      s.packs_a ? costs.pack_call + costs.pack * as_double(plan.m) * as_double(plan.k) : 0;
  const double alone = ns_of_cycles(facts, cycles(s, target));
  const double worked =
      s.together > 1 ? shared_ns(facts, batch * alone) : batch * shared_ns(facts, alone);
  const double far = all <= facts.l1_bytes
                         ? 0
                         : load_ns(facts, operand_bytes(plan.b, plan.k, plan.n), all) +
                               update_ns(facts, operand_bytes(plan.c, plan.m, plan.n), all);
  return batch * ns_of_cycles(facts, packed) + overlap_ns(facts, worked, batch * far);
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit) {
  if (walk_of(with_few_rows(plan)) == Walk::none)
    return {.why_not = "more rows than it takes, or b has no contiguous direction"};
  const Machine& facts = *target.facts;
  const double least = std::max(shared_ns(facts, ns_of_cycles(facts, facts.products->skinny.call)),
                                least_ns(target, plan, 1));
  if (least > limit) return {.nanoseconds = least};
  return estimate_of(make_schedule(target, plan), target, limit, "there is nothing to multiply");
}

}  // namespace infini::cpu::skinny
