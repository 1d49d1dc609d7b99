// What blocks cost: rearrangements in L1 and L2 before and behind the conversion.
#include <algorithm>

#include "backends/cpu/convert/blocks/schedule.h"
#include "backends/cpu/rearrange/candidates.h"

namespace infini::cpu {

double convert_blocks_ns(const ConvertSchedule& s, const OperatorPlan& plan,
                         const Setting& setting) {
  const ConvertBlock block = block_of_shape(s, {}, 0);
  const double blocks =
      static_cast<double>(element_count_of(plan)) / static_cast<double>(block.elements);
  // One thread moves a block, from where its lines are to the first caches.
  Setting alone = setting;
  alone.policy.threads = 1;
  double moves = 0;
  for (const RearrangePlan& move :
       {gather_plan(s, block, plan.dtypes[1]), scatter_plan(s, block, plan.dtypes[0])})
    if (move.depth > 0) moves += cheapest_ns(alone, move);
  const double instructions =
      blocks * (task_ns(setting.machine) + moves) + line_ns(plan, setting.machine);
  // What is brought together waits for memory, and what is converted after that does not.
  return convert_ns(plan, setting, 0, 0, s.streams) +
         instructions / convert_threads(plan, setting.policy);
}

}  // namespace infini::cpu
