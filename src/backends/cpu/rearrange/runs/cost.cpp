// What runs cost: vectors and what makes them, a call for every row, and lines in which rows meet.
#include <algorithm>

#include "backends/cpu/rearrange/cost.h"
#include "backends/cpu/rearrange/runs/schedule.h"

namespace infini::cpu {
namespace {

// Of 64 bytes of dst.
double vector_ns_of(const RunSchedule& s, const Setting& setting) {
  const Machine& m = setting.machine;
  const auto ways = static_cast<double>(s.ways);
  if (setting.isa == Isa::portable && s.kind != LineKind::copy && s.kind != LineKind::fill)
    return m.element_ns * static_cast<double>(line_bytes / s.word);
  switch (s.kind) {
    case LineKind::copy:
    case LineKind::fill: return m.vector_ns;
    case LineKind::flip: return m.vector_ns + m.exchange_ns;
    case LineKind::step: return m.vector_ns + 2 * ways * m.exchange_ns;
    case LineKind::weave: return m.vector_ns + ways * m.shuffle_ns;
    case LineKind::spread: return ways * (m.vector_ns + m.shuffle_ns);
  }
  return m.vector_ns;
}

Walk walk_of(const RunSchedule& s, const RearrangePlan& plan) {
  Walk walk;
  if (s.kind == LineKind::weave)
    walk.add(plan.loops[plan.depth - 1]).add(plan.loops[plan.depth - 2]);
  else if (s.kind != LineKind::copy)
    walk.add(plan.loops[plan.depth - 1], std::min(s.piece, plan.loops[plan.depth - 1].extent));
  walk.add(s.repeat).add_outer(s.near).add_rest().add_outer(s.outer);
  return walk;
}

}  // namespace

double runs_ns(const RunSchedule& s, const RearrangePlan& plan, const Setting& setting) {
  const Machine& m = setting.machine;
  const int64_t row = s.count * s.word;
  const auto rows = static_cast<double>(moved_bytes(plan) / row),
             pieces = static_cast<double>(s.pieces()),
             vectors = static_cast<double>(ceil_div(row, line_bytes));
  const bool copies = s.kind == LineKind::copy, is_short = !copies && row < line_bytes;
  // Rows that fill no vector are moved word by word; copies are calls.
  const double of_row =
      is_short ? static_cast<double>(s.count) * m.element_ns + turn_ns(m) / 2
               : pieces * (copies ? m.call_ns : turn_ns(m)) + vectors * vector_ns_of(s, setting);
  Effort effort;
  effort.threads = threads_of(plan, setting.policy, s.tasks());
  effort.streamed = s.streamed;
  if (effort.streamed || !lies_in_l1(plan, m))
    effort.moved = lines_of_walk(plan, walk_of(s, plan), held_in_l2(m));
  if (s.streamed && !s.joined && row % line_bytes != 0)
    effort.moved.parts = std::max(effort.moved.parts, rows * line_bytes);
  effort.instructions_ns =
      rows * of_row + static_cast<double>(s.tasks() * s.near_count) * task_ns(m);
  return nanoseconds_of(effort, plan, m);
}

}  // namespace infini::cpu
