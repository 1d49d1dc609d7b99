// How long a sweep takes: B comes by once, while the sums come and go between the second cache and the registers.
#include "backends/cpu/gemm/costs.h"
#include "backends/cpu/gemm/sweep/schedule.h"
#include "base/checked.h"

namespace infini::cpu::sweep {

double cycles(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const auto& costs = facts.products->sweep;
  const KernelShape& shape = shape_of(target, s.plan);
  const double vectors = as_double(ceil_div(s.plan.n, shape.lanes)), k = as_double(s.plan.k),
               rows = as_double(s.rows);
  const double multiplied =
      rows * vectors * k / vectors_per_cycle(facts, shape) / costs.arithmetic_share;
  const double packed = as_double(s.plan.m) *
                        (costs.pack * k + costs.row * as_double(ceil_div(s.plan.k, packed_depth)));
  const double calls = costs.group * rows / as_double(s.group) *
                       as_double(ceil_div(s.plan.n, s.width)) *
                       as_double(ceil_div(s.plan.k, depth));
  const double finished = finish_cycles(facts, s.plan.c, s.plan.m, s.plan.n, shape.lanes);
  return costs.call + multiplied + packed + calls + finished;
}

double nanoseconds(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const double vectors = as_double(ceil_div(s.plan.n, shape_of(target, s.plan).lanes)),
               sums = as_double(s.rows) * vectors * 64 * as_double(s.plan.k) / as_double(depth);
  const double alone =
      overlap_ns(facts, ns_of_cycles(facts, cycles(s, target)), sums / facts.l2_copy.one);
  const double all = footprint(s.plan);
  const double far = load_ns(facts, operand_bytes(s.plan.b, s.plan.k, s.plan.n), all) +
                     update_ns(facts, operand_bytes(s.plan.c, s.plan.m, s.plan.n), all);
  return as_double(s.plan.batch) * overlap_ns(facts, shared_ns(facts, alone), far);
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit) {
  const Machine& facts = *target.facts;
  const double least = shared_ns(
      facts, facts.threads * least_ns(target, plan, facts.products->sweep.arithmetic_share));
  if (least > limit) return {.nanoseconds = least};
  return estimate_of(make_schedule(target, plan), target, limit, "b's rows are not contiguous");
}

}  // namespace infini::cpu::sweep
