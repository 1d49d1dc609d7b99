// Whether a rank has what its part of a plan needs.
#include "reshard/shards.h"

#include <algorithm>

#include "base/error.h"

namespace infini {
namespace {

// Ranks without elements of a side may give no memory for it.
void require_shards(const ReshardPlan& plan, int rank, const void* dst, const void* src) {
  const auto holds = [&](const Placement& side, const std::vector<int64_t>& shape) {
    return side.place_of(rank) >= 0 && std::find(shape.begin(), shape.end(), 0) == shape.end();
  };
  if (holds(plan.destination(), plan.dst_shape(rank))) require_pointer(dst, "dst");
  if (holds(plan.source(), plan.src_shape(rank))) require_pointer(src, "src");
}

}  // namespace

bool takes_part(const ReshardPlan& plan, const Wire& wire, const Shards& shards) {
  require(plan.ranks() <= wire.ranks(), INFINI_STATUS_BAD_PARAM, "the plan has ", plan.ranks(),
          " ranks, the transport ", wire.ranks());
  if (wire.rank() >= plan.ranks()) return false;
  require_shards(plan, wire.rank(), shards.dst, shards.src);
  return true;
}

}  // namespace infini
