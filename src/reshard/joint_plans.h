// Pieces of several lanes that lie side by side in the shard, as one copy.
//
// Columns of many ranks become rows of one: of every line of the shard each rank brings a part. Unpacked one after the other
// the line would be fetched and written in parts, once for each of them.
#pragma once

#include <vector>

#include "reshard/prepared.h"

namespace infini {

// For each number of a piece the copy of all lanes' pieces from SharedMemory::place_of_all into the shard. None where lanes differ,
// do not all come through shared memory, or are long enough one by one. The plan's messages go to the rank itself, too.
std::vector<RearrangePlan> joint_plans(const RankPlan& plan, infiniDtype_t dtype,
                                       const PieceSizes& sizes, int rank);

}  // namespace infini
