// An operator plan in two: what a launch numbers, and the loops that are left for the host.
#pragma once

#include <algorithm>
#include <climits>
#include <vector>

#include "backends/gpu/operators/nest.h"
#include "base/checked.h"

namespace infini::gpu {

constexpr int64_t most_units = INT32_MAX;

// What a launch sees, and the loops that are left for the host.
struct Split {
  RowNest nest{};
  std::vector<OperatorLoop> outer;
};

// False: more than a launch can number.
inline bool split(const OperatorPlan& plan, Split& out) {
  RowNest& nest = out.nest;
  nest.function = plan.function;
  nest.operands = plan.operands;
  nest.epsilon = plan.epsilon;
  nest.table_rows = plan.table_rows;
  std::copy_n(plan.dtypes, max_operands, nest.dtypes);
  std::copy_n(plan.row_steps, max_operands, nest.row_steps);
  std::copy_n(plan.pair_steps, 2, nest.pair_steps);
  std::copy_n(plan.table_steps, 2, nest.table_steps);
  if (plan.length > most_units) return false;
  nest.length = static_cast<uint32_t>(plan.length);
  int64_t rows = 1;
  int i = plan.depth;
  for (; i > 0 && nest.depth < max_row_loops; --i) {
    const OperatorLoop& loop = plan.loops[i - 1];
    int64_t more, units;
    if (!checked_mul(rows, loop.extent, more) || !checked_mul(more, plan.length, units) ||
        units > most_units)
      break;
    nest.extents[nest.depth] = make_fast_divisor(static_cast<uint32_t>(loop.extent));
    std::copy_n(loop.steps, max_operands, nest.steps[nest.depth++]);
    rows = more;
  }
  nest.rows = static_cast<uint32_t>(rows);
  out.outer.assign(plan.loops, plan.loops + i);
  return plan.function != Function::causal_softmax || nest.depth > 0;
}

}  // namespace infini::gpu
