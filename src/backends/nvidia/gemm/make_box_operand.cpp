// What the copy engine can read.
#include <algorithm>

#include "backends/nvidia/gemm/box_operand.h"
#include "base/checked.h"

namespace infini::nvidia {
namespace {

constexpr int64_t element = 2, engine_step = 16;  // bytes
constexpr int64_t most_extent = INT32_MAX / 2, most_step = int64_t{1} << 39;

struct Direction {
  int64_t step, extent;
};

// The steps of directions without a second element are made up.
std::optional<BoxOperand> box_operand(const Direction& x, const Direction& k, int64_t batch,
                                      int64_t batch_step) {
  const bool k_inside = k.step == element || (x.step != element && k.extent == 1);
  const Direction &inner = k_inside ? k : x, &outer = k_inside ? x : k;
  BoxOperand s{k_inside,   inner.extent, outer.extent, batch_step == 0 ? 1 : batch,
               outer.step, batch_step};
  if (inner.step != element && inner.extent != 1) return std::nullopt;
  const int64_t line = round_up(inner.extent * element, engine_step);
  if (outer.extent == 1) s.outer_step = line;
  if (s.batch == 1) s.batch_step = engine_step;
  for (const int64_t step : {s.outer_step, s.batch_step})
    if (step <= 0 || step >= most_step || step % engine_step != 0) return std::nullopt;
  const bool fits = std::max({s.inner, s.outer, s.batch}) <= most_extent;
  return fits && s.outer_step >= line ? std::optional(s) : std::nullopt;
}

bool is_16_bit(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16;
}

}  // namespace

std::optional<BoxOperand> box_operand_a(const GemmPlan& plan) {
  if (!is_16_bit(plan.a.dtype)) return std::nullopt;
  return box_operand({plan.a.row_step, plan.m}, {plan.a.col_step, plan.k}, plan.batch,
                     plan.a.batch_step);
}

std::optional<BoxOperand> box_operand_b(const GemmPlan& plan) {
  if (!is_16_bit(plan.b.dtype)) return std::nullopt;
  return box_operand({plan.b.col_step, plan.n}, {plan.b.row_step, plan.k}, plan.batch,
                     plan.b.batch_step);
}

}  // namespace infini::nvidia
