// Cutting a product in dot products of pairs into stretches of columns.
#include "backends/cpu/gemm/dots/schedule.h"

#include <algorithm>

#include "backends/cpu/gemm/dots/kernels.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu::dots {
namespace {

constexpr int64_t line_bytes = 64, element_bytes = 2;
constexpr int64_t few_turns = 3;      // of few rows at many columns; then rather more rows at fewer
constexpr int64_t stretch_cols = 16;  // of fewer columns
constexpr int64_t near_b_bytes = 512
                                 << 10;  // nothing of a B in the second cache is asked for ahead

}  // namespace

int64_t Schedule::workspace_bytes() const {
  return saturating_add(a_bytes, saturating_mul(threads, thread_bytes));
}

std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& given) {
  Schedule s;
  s.plan = with_few_rows(given);
  const GemmPlan& plan = s.plan;
  if (!is_something(plan) || plan.a.dtype != INFINI_DTYPE_BF16 || plan.m > most_rows ||
      (plan.k > 1 && plan.b.row_step != element_bytes))
    return std::nullopt;
  s.swapped = given.m > given.n;
  const bool wide = plan.m <= few_turns * wide_rows;
  s.together = wide ? wide_cols : narrow_cols;
  s.turns = ceil_div(plan.m, int64_t{wide ? wide_rows : narrow_rows});
  s.height = ceil_div(plan.m, s.turns);
  s.cols = wide ? wide_cols : stretch_cols;
  s.far = saturating_mul(plan.k, plan.n, element_bytes) > near_b_bytes;
  s.threads = static_cast<int>(
      std::min<int64_t>(worthwhile_threads(target, cycles(s, target)), s.stretches()));
  s.a_bytes = saturating_mul(plan.m * element_bytes, round_up(plan.k, line_elements));
  s.a_bytes = round_up(s.a_bytes, line_bytes);
  s.partial_bytes = round_up(plan.m * s.cols, sums_together) * line_bytes;
  s.thread_bytes = s.partial_bytes + round_up(plan.m * s.cols, sums_together) * 4;
  return s.workspace_bytes() <= most_workspace_bytes ? std::optional(s) : std::nullopt;
}

}  // namespace infini::cpu::dots
