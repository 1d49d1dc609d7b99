// How long a product on the matrix unit takes: packing, products of tiles, and rounding.
#include "backends/cpu/gemm/amx/kernels.h"
#include "backends/cpu/gemm/amx/schedule.h"
#include "backends/cpu/gemm/costs.h"
#include "base/checked.h"

namespace infini::cpu::amx {
namespace {

// In place, as one thread would.
bool reads_a(const Schedule& s) {
  return !s.f16 && s.plan.a.col_step == 2 && s.plan.m % side == 0 && s.plan.k % group == 0 &&
         s.plan.a.row_step % 64 == 0;
}

}  // namespace

double nanoseconds(const Schedule& s, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const auto& costs = facts.products->amx;
  const GemmPlan& plan = s.plan;
  const double tiles = as_double(ceil_div(plan.m, side)) * as_double(ceil_div(plan.n, side)) *
                       as_double(ceil_div(plan.k, group));
  const double planes = s.f16 ? 2 : 1;
  const double deep = as_double(round_up(plan.k, group)), wide = as_double(round_up(plan.n, side)),
               high = as_double(round_up(plan.m, side));
  double cycles = costs.product + planes * deep * wide *
                                      (plan.b.col_step == 2   ? costs.pack.by_rows
                                       : plan.b.row_step == 2 ? costs.pack.by_columns
                                                              : costs.pack.one_by_one);
  if (!reads_a(s))
    cycles +=
        planes * deep * high * (plan.a.col_step == 2 ? costs.pack.by_rows : costs.pack.one_by_one);
  cycles += costs.block * as_double(ceil_div(plan.m, block)) * as_double(ceil_div(plan.n, block));
  if (plan.m % block != 0 || plan.n % block != 0 || plan.c.dtype != plan.a.dtype)
    cycles += finish_cycles(facts, plan.c, plan.m, plan.n, target.f32->lanes);
  const double all = footprint(plan), batch = as_double(plan.batch);
  const double moved =
      load_ns(facts, operand_bytes(plan.a, plan.m, plan.k) + operand_bytes(plan.b, plan.k, plan.n),
              all) +
      update_ns(facts, operand_bytes(plan.c, plan.m, plan.n), all);
  const double alone =
      batch * (ns_of_cycles(facts, cycles) + planes * planes * tiles * facts.tile_ns);
  return costs.call_ns + shared_ns(facts, alone) + batch * moved;
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit) {
  if (!target.matrix)
    return {.why_not = "not 16-bit, or the processor has no matrix unit (AMX) to use"};
  const double call_ns = target.facts->products->amx.call_ns;
  if (call_ns > limit) return {.nanoseconds = call_ns};
  return estimate_of(make_schedule(plan, target.threads), target, limit,
                     "not of 16 bits, or nothing to multiply");
}

}  // namespace infini::cpu::amx
