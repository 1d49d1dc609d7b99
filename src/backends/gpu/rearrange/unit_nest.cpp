// Choosing the unit: the largest word that every step allows.
#include "backends/gpu/rearrange/unit_nest.h"

#include "plan/rearrange/memory_traffic.h"

namespace infini::gpu {

UnitNest make_unit_nest(const RearrangePlan& plan, int max_unit) {
  UnitNest nest;
  int64_t bits = plan.atom_bytes | max_unit;
  for (int i = 0; i < plan.depth; ++i) bits |= plan.loops[i].dst_step | plan.loops[i].src_step;
  nest.unit = static_cast<int>(bits & -bits);  // the lowest bit set in any of them
  nest.dst_offset = plan.dst_offset;
  nest.src_offset = plan.src_offset;
  nest.src_bytes = src_range(plan);
  nest.whole_lines = source_traffic(plan, 32) > 0.7 * source_traffic(plan, 128);
  for (int i = 0; i < plan.depth; ++i) nest.loops[nest.depth++] = plan.loops[i];
  if (plan.atom_bytes > nest.unit)
    nest.loops[nest.depth++] = {plan.atom_bytes / nest.unit, nest.unit, nest.unit};
  return nest;
}

}  // namespace infini::gpu
