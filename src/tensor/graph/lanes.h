// Lanes: which recorded steps may run side by side. Steps in one lane run one after another.
#pragma once

#include <cstddef>
#include <vector>

#include "tensor/graph/step.h"

namespace infinicore::detail {

constexpr size_t most_lanes = 8;

struct LaneStep {
  size_t lane;
  std::vector<size_t> waits;  // steps of other lanes that must be done before
};

// Law: of two steps of which one writes what the other touches (workspaces count), the later one runs
// after the earlier one: by its lane, its waits, or theirs. The first step is in lane 0.
std::vector<LaneStep> plan_lanes(const std::vector<const Step*>& steps);

}  // namespace infinicore::detail
