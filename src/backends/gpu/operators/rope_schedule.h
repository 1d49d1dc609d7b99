// How the heads of rope are dealt out to threads, as plain data: a thread turns the same pairs of a few neighbouring heads.
#pragma once

#include <cstdint>

#include "plan/operators/operator_plan.h"

namespace infini::gpu {

constexpr int most_heads = 4;

// `count` heads of a unit, `steps` bytes apart in y and x.
struct HeadGroup {
  int32_t count = 1;
  int64_t steps[2] = {};
};

// Takes groups of heads out of the plan's innermost loop, where that is one over heads of the same position.
// Law: the points of the plan before are those of the plan after with each of the group's heads.
inline HeadGroup take_heads(OperatorPlan& plan) {
  HeadGroup group;
  if (plan.depth == 0 || plan.loops[plan.depth - 1].steps[2] != 0) return group;
  OperatorLoop& loop = plan.loops[plan.depth - 1];
  while (group.count < most_heads && loop.extent % (2 * group.count) == 0) group.count *= 2;
  for (int k = 0; k < 2; ++k) group.steps[k] = loop.steps[k];
  loop.extent /= group.count;
  for (int k = 0; k < max_operands; ++k) loop.steps[k] *= group.count;
  return group;
}

}  // namespace infini::gpu
