// How long a product in pairs takes: packing B, and tiles that find it in the second cache.
#include "backends/cpu/gemm/costs.h"
#include "backends/cpu/gemm/dpbf16/kernels.h"
#include "backends/cpu/gemm/dpbf16/schedule.h"
#include "base/checked.h"

namespace infini::cpu::dpbf16 {
namespace {

// Columns are turned in squares.
double pack_cycles(const PackCycles& pack, int64_t inner_step, int64_t outer_step, int64_t k,
                   double columns) {
  return inner_step == 2   ? pack.by_rows * as_double(k) * columns
         : outer_step == 2 ? pack.by_columns * as_double(round_up(k, 2 * lanes)) * columns
                           : pack.one_by_one * as_double(k) * columns;
}

}  // namespace

double cycles(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const auto& costs = facts.products->dpbf16;
  const GemmPlan& plan = s.plan;
  const double m = as_double(plan.m), k = as_double(plan.k);
  const double vectors = as_double(s.width / lanes), panels = as_double(ceil_div(plan.n, s.width)),
               pieces = as_double(ceil_div(plan.k, s.depth));
  const double strips = as_double(ceil_div(plan.m, most_rows(s.width / lanes)));
  const double each = vectors_per_cycle(facts, *target.f32) * facts.pair_rate / 2;  // of pairs
  const double step = std::max(facts.products->pair_latency, m / strips * vectors / each);
  double sum = costs.call + strips * panels * (k / 2 * step + pieces * costs.tile);
  sum += pack_cycles(costs.pack, plan.b.col_step, plan.b.row_step, plan.k,
                     panels * as_double(s.width));
  if (s.packs_a)
    sum += pack_cycles(costs.pack, plan.a.row_step, plan.a.col_step, plan.k,
                       as_double(round_up(plan.m, packed_rows)));
  return as_double(plan.batch) * sum;
}

double nanoseconds(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const GemmPlan& plan = s.plan;
  const double all = footprint(plan);
  const bool far = all > facts.l2_bytes * facts.threads && plan.b.col_step == 2;
  const double b = operand_bytes(plan.b, plan.k, plan.n) * (far ? facts.products->dpbf16.far : 1);
  const double moved = load_ns(facts, operand_bytes(plan.a, plan.m, plan.k) + b, all) +
                       update_ns(facts, operand_bytes(plan.c, plan.m, plan.n), all);
  return shared_ns(facts, ns_of_cycles(facts, cycles(s, target))) + as_double(plan.batch) * moved;
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit) {
  if (!target.pairs) return {.why_not = "not bf16, or the processor lacks AVX512-BF16"};
  const double least = least_ns(target, plan, target.facts->pair_rate);
  if (least > limit) return {.nanoseconds = least};
  return estimate_of(make_schedule(target, plan), target, limit,
                     "not bf16, or nothing to multiply");
}

}  // namespace infini::cpu::dpbf16
