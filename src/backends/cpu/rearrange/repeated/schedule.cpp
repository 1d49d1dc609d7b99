// Finding what is repeated.
#include "backends/cpu/rearrange/repeated/schedule.h"

namespace infini::cpu {

std::optional<RepeatedSchedule> make_repeated_schedule(const RearrangePlan& plan) {
  std::optional<RepeatedSchedule> schedule;
  int64_t block = plan.atom_bytes;
  int found = -1;  // the outermost one: what it repeats is the longest
  for (int i = plan.depth; i-- > 0 && plan.loops[i].dst_step == block;
       block *= plan.loops[i].extent)
    if (plan.loops[i].src_step == 0 && i + 1 < plan.depth) found = i;
  if (found >= 0) schedule = {found, repeat_in_dst(plan, found)};
  return schedule;
}

}  // namespace infini::cpu
