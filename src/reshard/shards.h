// What one rank brings to a run.
#pragma once

#include "plan/reshard/reshard_plan.h"
#include "reshard/wire/wire.h"

namespace infini {

struct Shards {
  void* dst;
  const void* src;
  const ShardStrides& strides;
};

// False: the rank looks on. Throws where the transport has too few ranks or memory is missing.
bool takes_part(const ReshardPlan& plan, const Wire& wire, const Shards& shards);

}  // namespace infini
