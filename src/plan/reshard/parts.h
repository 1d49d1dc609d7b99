// What a rank's destination shard is made of, as ranges of source shards: for who reads shards himself, from files for example.
#pragma once

#include "plan/reshard/reshard_plan.h"

namespace infini {

// start, start + step, ...: `count` local indexes of one dim.
struct IndexRange {
  int64_t start, count, step;
};

struct ShardPart {
  int source = 0;                    // the rank whose shard holds it
  std::vector<IndexRange> dst, src;  // for each dim of the side
};

// Law: over all parts every element of the destination shard stands exactly once, with its place in a source shard. Of replicas
// the rank itself is asked, else the one that its number falls on. Throws BAD_PARAM for a rank outside 0..ranks()-1.
std::vector<ShardPart> parts_of(const ReshardPlan& plan, int rank);

}  // namespace infini
