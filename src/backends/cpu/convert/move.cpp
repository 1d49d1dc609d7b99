// Counting what a conversion moves.
#include "backends/cpu/convert/move.h"

#include <algorithm>

#include "base/checked.h"
#include "base/dtype.h"
#include "plan/rearrange/memory_traffic.h"

namespace infini::cpu {
namespace {

// One operand's elements on both sides, at most so many of its loops: those that repeat come last.
RearrangePlan elements_of(const OperatorPlan& plan, int operand) {
  RearrangePlan elements;
  elements.atom_bytes = dtype_bytes(plan.dtypes[operand]);
  for (const OperatorLoop& loop : nest_of(plan))
    elements.loops[elements.depth++] = {loop.extent, loop.steps[operand], loop.steps[operand]};
  return elements;
}

}  // namespace

std::vector<OperatorLoop> nest_of(const OperatorPlan& plan) {
  std::vector<OperatorLoop> nest(plan.loops, plan.loops + plan.depth);
  if (plan.length > 1) {
    nest.push_back({plan.length, {}});
    std::copy_n(plan.row_steps, plan.operands, nest.back().steps);
  }
  return nest;
}

int64_t element_count_of(const OperatorPlan& plan) {
  return saturating_mul(row_count(plan), plan.length);
}

std::optional<RearrangePlan> move_in_words(const OperatorPlan& plan) {
  const int64_t y_bytes = dtype_bytes(plan.dtypes[0]), x_bytes = dtype_bytes(plan.dtypes[1]);
  RearrangePlan move;
  move.atom_bytes = y_bytes;
  move.dst_offset = plan.offsets[0];
  if (!checked_mul(plan.offsets[1] / x_bytes, y_bytes, move.src_offset)) return std::nullopt;
  for (const OperatorLoop& loop : nest_of(plan)) {
    Loop& to = move.loops[move.depth++];
    to = {loop.extent, loop.steps[0], 0};
    int64_t reach;
    if (!checked_mul(loop.steps[1] / x_bytes, y_bytes, to.src_step) ||
        !checked_mul(to.src_step, to.extent, reach))
      return std::nullopt;
  }
  return move;
}

ConvertTraffic traffic_of(const OperatorPlan& plan) {
  return {source_traffic(elements_of(plan, 1), line_bytes),
          memory_traffic(elements_of(plan, 0), line_bytes).written};
}

bool converts_beyond_caches(const OperatorPlan& plan, const Policy& policy) {
  const int64_t bytes = saturating_mul(element_count_of(plan), dtype_bytes(plan.dtypes[0]));
  return bytes >= saturating_mul(policy.streamed_bytes, std::max(1, policy.threads));
}

int convert_threads(const OperatorPlan& plan, const Policy& policy) {
  const int64_t both = dtype_bytes(plan.dtypes[0]) + dtype_bytes(plan.dtypes[1]);
  return threads_for(saturating_mul(element_count_of(plan), both) / 2, policy);
}

double line_ns(const OperatorPlan& plan, const Machine& machine) {
  const Format to = format_in(plan, 0), from = format_in(plan, 1);
  const bool wide = is_wide(to) || is_wide(from);
  const Format middle = wide ? Format::f64 : Format::f32;
  const int steps =
      std::max(1, (from != middle) + (to != middle) + (computes(plan.conversion) ? 1 : 0));
  const double vectors = static_cast<double>(element_count_of(plan)) * (wide ? 8 : 4) / line_bytes;
  return vectors * steps * 2 * machine.vector_ns;
}

double convert_ns(const OperatorPlan& plan, const Setting& setting, double instructions_ns,
                  double parts, bool streamed) {
  Effort effort;
  effort.threads = convert_threads(plan, setting.policy);
  effort.streamed = streamed;
  effort.instructions_ns = instructions_ns;
  const ConvertTraffic traffic = traffic_of(plan);
  effort.moved = {traffic.read, traffic.read, traffic.written, parts};
  return nanoseconds_of(effort, elements_of(plan, 0), setting.machine);
}

}  // namespace infini::cpu
