// What the general walk costs: it moves atom by atom.
#include <algorithm>

#include "backends/cpu/rearrange/cost.h"
#include "backends/cpu/rearrange/nest/schedule.h"

namespace infini::cpu {
namespace {

// Atoms whose size is a constant of the kernel are a few instructions, others a call.
double atom_ns(int64_t bytes, const Machine& m) {
  const double vectors = static_cast<double>(bytes) / line_bytes * m.vector_ns;
  return (has_constant_move(bytes) ? m.element_ns : m.call_ns) + vectors;
}

Walk walk_of(const NestSchedule& s) {
  Walk walk;
  walk.add(s.fast_dst, std::min(s.block, s.fast_dst.extent))
      .add(s.fast_src, std::min(s.block, s.fast_src.extent))
      .add_rest()
      .add_outer(s.outer);
  return walk;
}

}  // namespace

double nest_ns(const NestSchedule& s, const RearrangePlan& plan, const Setting& setting) {
  const Machine& m = setting.machine;
  const int64_t row = std::min(s.block, s.fast_dst.extent);
  const auto atoms = static_cast<double>(atom_count(plan));
  Effort effort;
  effort.threads = threads_of(plan, setting.policy, s.tasks());
  if (!lies_in_l1(plan, m)) effort.moved = lines_of_walk(plan, walk_of(s), m.l1_bytes / 2);
  effort.instructions_ns = m.call_ns + static_cast<double>(s.tasks() - 1) * task_ns(m) +
                           atoms / static_cast<double>(row) * turn_ns(m) +
                           atoms * atom_ns(s.atom_bytes, m);
  return nanoseconds_of(effort, plan, m);
}

}  // namespace infini::cpu
