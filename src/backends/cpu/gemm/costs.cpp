// Bytes and threads.
#include "backends/cpu/gemm/costs.h"

#include <algorithm>

#include "base/checked.h"

namespace infini::cpu {
namespace {

double turned_cycles(const ProductCycles& cycles, int64_t unit, int lanes) {
  return unit == 2 ? cycles.turned_halves : lanes == 16 ? cycles.turned_by_16 : cycles.turned;
}

// Where something of that size is found again.
const Rate& rate_of(const Machine& facts, double footprint, const Rate& second, const Rate& third,
                    const Rate& memory) {
  return footprint <= facts.l2_bytes * facts.threads ? second
         : footprint <= facts.l3_bytes               ? third
                                                     : memory;
}

}  // namespace

double load_ns(const Machine& facts, double bytes, double footprint) {
  return bytes / rate_of(facts, footprint, facts.l2_load, facts.l3_load, facts.memory_load).all;
}

double update_ns(const Machine& facts, double bytes, double footprint) {
  return bytes / rate_of(facts, footprint, facts.l2_copy, facts.l3_copy, facts.memory_copy).all;
}

double copy_cycles(const Machine& facts, const GemmOperand& x, int64_t rows, int64_t cols,
                   int lanes) {
  const ProductCycles& cycles = *facts.products;
  const int64_t unit = dtype_bytes(x.dtype);
  if (cols == 1 || x.col_step == unit)
    return (unit == 2 ? cycles.converted : cycles.copied) * as_double(rows) *
           as_double(ceil_div(cols, lanes));
  if (rows != 1 && x.row_step != unit) return cycles.one_by_one * as_double(rows) * as_double(cols);
  return turned_cycles(cycles, unit, lanes) * as_double(rows) * as_double(round_up(cols, lanes));
}

double pack_cycles(const Machine& facts, const GemmOperand& x, int64_t wide_step, int64_t deep_step,
                   int64_t deep, int64_t wide, int lanes) {
  const ProductCycles& cycles = *facts.products;
  const int64_t unit = dtype_bytes(x.dtype);
  if (wide_step == unit) return cycles.copied * as_double(deep) * as_double(wide) / lanes;
  if (deep_step != unit) return cycles.one_by_one * as_double(deep) * as_double(wide);
  return turned_cycles(cycles, unit, lanes) * as_double(round_up(deep, lanes)) * as_double(wide);
}

double shared_ns(const Machine& facts, double alone_ns) {
  return std::min(alone_ns, alone_ns / facts.threads + facts.region_ns);
}

double footprint(const GemmPlan& plan) {
  return as_double(plan.batch) *
         (operand_bytes(plan.c, plan.m, plan.n) + operand_bytes(plan.a, plan.m, plan.k) +
          operand_bytes(plan.b, plan.k, plan.n));
}

}  // namespace infini::cpu
