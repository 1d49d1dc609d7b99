// How long dot products in pairs take: B comes by once, and each of its vectors meets every row of A.
#include "backends/cpu/gemm/costs.h"
#include "backends/cpu/gemm/dots/schedule.h"
#include "base/checked.h"

namespace infini::cpu::dots {

double cycles(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const auto& costs = facts.products->dots;
  const GemmPlan& plan = s.plan;
  const double each = vectors_per_cycle(facts, *target.f32) * facts.pair_rate / 2;  // of pairs
  const double step = std::max(facts.products->pair_latency,
                               as_double(s.height * s.together) / each / costs.arithmetic_share);
  const double groups = as_double(s.turns * ceil_div(plan.n, s.together));
  const double pieces = as_double(ceil_div(plan.k, piece_elements));
  return costs.call + groups * (as_double(ceil_div(plan.k, line_elements)) * step +
                                pieces * costs.piece + costs.sums);
}

double nanoseconds(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const GemmPlan& plan = s.plan;
  const double packed = facts.products->dots.pack * as_double(plan.m) * as_double(plan.k);
  const double worked = shared_ns(facts, ns_of_cycles(facts, cycles(s, target)));
  const double all = footprint(plan);
  const double far = all <= facts.l1_bytes
                         ? 0
                         : load_ns(facts, operand_bytes(plan.b, plan.k, plan.n), all) +
                               update_ns(facts, operand_bytes(plan.c, plan.m, plan.n), all);
  return as_double(plan.batch) * (ns_of_cycles(facts, packed) + overlap_ns(facts, worked, far));
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit) {
  if (!target.pairs) return {.why_not = "not bf16, or the processor lacks AVX512-BF16"};
  const double least = least_ns(target, plan, target.facts->pair_rate);
  if (least > limit) return {.nanoseconds = least};
  return estimate_of(make_schedule(target, plan), target, limit,
                     "more rows than it takes, or b's columns are not contiguous");
}

}  // namespace infini::cpu::dots
