// How long the blocked gemm takes: packing both operands, and tiles that find them in near caches.
#include "backends/cpu/gemm/blocked/schedule.h"
#include "backends/cpu/gemm/costs.h"
#include "base/checked.h"

namespace infini::cpu::blocked {
namespace {

// As one thread would.
bool packs_a(const Schedule& s) {
  return memory_index(s.plan.a.dtype) != 0 || s.plan.a.col_step != s.bytes ||
         s.plan.n > Schedule::most_unpacked_cols;
}

}  // namespace

double cycles(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const auto& costs = facts.products->blocked;
  const GemmPlan& plan = s.plan;
  const KernelShape& shape = shape_of(target, plan);
  const double k = as_double(plan.k);
  const double strips = as_double(s.strips(plan.m)), panels = as_double(ceil_div(plan.n, s.panel)),
               pieces = as_double(ceil_div(plan.k, s.depth));
  const double step = std::max(facts.products->fma_latency,
                               as_double(ceil_div(plan.m, s.strips(plan.m)) * s.panel / s.lanes) /
                                   vectors_per_cycle(facts, shape) / costs.tile_share);
  double sum = costs.call + strips * panels * (k * step + pieces * costs.tile);
  const int lanes = static_cast<int>(s.lanes);
  sum += pack_cycles(facts, plan.b, plan.b.col_step, plan.b.row_step, plan.k, plan.n, lanes);
  if (packs_a(s))
    sum += pack_cycles(facts, plan.a, plan.a.row_step, plan.a.col_step, plan.k, plan.m, lanes);
  if (!s.direct_c) sum += finish_cycles(facts, plan.c, plan.m, plan.n, lanes);
  return as_double(plan.batch) * sum;
}

double nanoseconds(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const GemmPlan& plan = s.plan;
  const double all = footprint(plan), pieces = as_double(ceil_div(plan.k, s.depth));
  const double bytes =
      operand_bytes(plan.a, plan.m, plan.k) + operand_bytes(plan.b, plan.k, plan.n);
  const double moved = load_ns(facts, bytes, all) +
                       pieces * update_ns(facts, operand_bytes(plan.c, plan.m, plan.n), all);
  return shared_ns(facts, ns_of_cycles(facts, cycles(s, target))) + as_double(plan.batch) * moved +
         pieces * facts.region_ns;
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit) {
  const double least =
      target.facts->region_ns + least_ns(target, plan, target.facts->products->blocked.tile_share);
  if (least > limit) return {.nanoseconds = least};
  return estimate_of(std::optional(make_schedule(target, plan)), target, limit, "");
}

}  // namespace infini::cpu::blocked
