// Cutting a sweep into stretches of columns.
#include "backends/cpu/gemm/sweep/schedule.h"

#include <algorithm>

#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu::sweep {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t least_row_bytes = 256;  // of a row of B, for each thread

// Columns whose sums wait in three quarters of the second cache, beside the rows of B that are read and fetched.
int64_t most_cols(const Schedule& s, const GemmTarget& target, int64_t bytes) {
  const int64_t column =
      saturating_add(saturating_mul(s.rows, bytes), 2 * depth * dtype_bytes(s.plan.b.dtype));
  return std::max(s.width, static_cast<int64_t>(target.facts->l2_bytes) * 3 / 4 / column);
}

}  // namespace

int64_t Schedule::workspace_bytes() const {
  return saturating_add(a_bytes, saturating_mul(threads, thread_bytes));
}

std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& given) {
  Schedule s;
  s.plan = with_few_rows(given);
  const GemmPlan& plan = s.plan;
  if (!is_something(plan) || plan.n == 1 || plan.b.col_step != dtype_bytes(plan.b.dtype))
    return std::nullopt;
  const KernelShape& shape = shape_of(target, plan);
  s.swapped = given.m > given.n;
  s.group = shape.sweep_rows;
  s.width = 2 * shape.lanes;
  s.rows = round_up(plan.m, s.group);
  s.threads =
      static_cast<int>(std::clamp<int64_t>(plan.n * dtype_bytes(plan.b.dtype) / least_row_bytes, 1,
                                           worthwhile_threads(target, cycles(s, target))));
  const int64_t rounds =  // of each thread: they should end together
      ceil_div(plan.n, s.threads * most_cols(s, target, shape.bytes));
  s.cols = round_up(ceil_div(plan.n, s.threads * rounds), s.width);
  s.a_bytes = round_up(saturating_mul(s.rows, plan.k, shape.bytes), line_bytes);
  s.thread_bytes = saturating_mul(s.rows, s.cols, shape.bytes);
  return s.workspace_bytes() <= most_workspace_bytes ? std::optional(s) : std::nullopt;
}

}  // namespace infini::cpu::sweep
