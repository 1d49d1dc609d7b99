// Finding lanes that go together.
#include "reshard/joint_plans.h"

#include <algorithm>

#include "reshard/shared/shared_memory.h"

namespace infini {
namespace {

// From here on lines in which two runs meet are few.
constexpr int64_t longest_run = 512;

struct LanePlans {
  int peer;
  int64_t number;                     // among the ranks that share memory
  std::vector<RearrangePlan> pieces;  // from the beginning of a slot
};

// Empty: some do not go through shared memory, or in several boxes.
std::vector<LanePlans> plans_by_lane(const RankPlan& plan, infiniDtype_t dtype,
                                     const PieceSizes& sizes, int rank) {
  std::vector<LanePlans> lanes;
  for (const Message& message : plan.receives) {
    if (message.boxes != 1 || (message.peer != rank && !sizes.shares_with(message.peer))) return {};
    if (lanes.empty() || lanes.back().peer != message.peer)
      lanes.push_back({message.peer, sizes.number_of(message.peer, rank), {}});
    lanes.back().pieces.push_back(plan_of(plan.boxes[message.first_box], plan.loops.data(), dtype));
  }
  std::sort(lanes.begin(), lanes.end(), [](const LanePlans& a, const LanePlans& b) {
    return a.pieces[0].dst_offset < b.pieces[0].dst_offset;
  });
  return lanes;
}

// Piece `number` of lane `lane` is where the first lane's piece says, `lane` runs further on.
bool goes_on(const std::vector<LanePlans>& lanes, size_t lane, size_t number, int64_t step) {
  const RearrangePlan& first = lanes[0].pieces[number];
  RearrangePlan expected = lanes[lane].pieces[number];
  const auto further = static_cast<int64_t>(lane);
  if (lanes[lane].number != lanes[0].number + further * step) return false;
  expected.dst_offset -= further * first.atom_bytes;
  return expected == first && first.atom_bytes <= longest_run && first.depth > 0 &&
         first.depth < max_rank;
}

}  // namespace

std::vector<RearrangePlan> joint_plans(const RankPlan& plan, infiniDtype_t dtype,
                                       const PieceSizes& sizes, int rank) {
  const std::vector<LanePlans> lanes = plans_by_lane(plan, dtype, sizes, rank);
  if (lanes.size() < 2) return {};
  const int64_t step = lanes[1].number - lanes[0].number;
  const int64_t lane_bytes = SharedMemory::lane_bytes(sizes.shared);
  std::vector<RearrangePlan> joint = lanes[0].pieces;
  for (size_t lane = 1; lane < lanes.size(); ++lane) {
    if (lanes[lane].pieces.size() != joint.size()) return {};
    for (size_t number = 0; number < joint.size(); ++number)
      if (!goes_on(lanes, lane, number, step)) return {};
  }
  for (RearrangePlan& one : joint) {
    one.src_offset += lanes[0].number * lane_bytes;
    one.loops[one.depth++] = {static_cast<int64_t>(lanes.size()), one.atom_bytes,
                              step * lane_bytes};
  }
  return joint;
}

}  // namespace infini
