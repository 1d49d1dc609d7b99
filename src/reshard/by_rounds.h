// A resharding over a transport that has rounds, from the agreement before to the one after.
#pragma once

#include "reshard/prepared.h"
#include "reshard/run.h"
#include "reshard/shards.h"

namespace infini {

void run_by_rounds(Device& device, const ReshardPlan& plan, PreparedReshards& kept,
                   const Shards& shards, Wire& wire, const ReshardSettings& settings);

}  // namespace infini
