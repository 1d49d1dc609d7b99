// From a rank's plan to copies.
#include "reshard/prepared.h"

#include <algorithm>

#include "base/dtype.h"

namespace infini {
namespace {

// Kernels by what they move, wherever that lies.
class Kernels {
 public:
  explicit Kernels(Device& device) : device_(device) {}

  PieceCopy copy_of(RearrangePlan plan) {
    PieceCopy copy{nullptr, plan.dst_offset, plan.src_offset};
    plan.dst_offset = plan.src_offset = 0;
    // Pieces of one box follow one another: the last few forms are all that come again.
    const size_t first = made_.size() > 8 ? made_.size() - 8 : 0;
    for (size_t i = made_.size(); i-- > first;)
      if (made_[i].plan == plan) {
        copy.how = made_[i].kernel;
        return copy;
      }
    made_.push_back({plan, std::make_shared<const Rearrange>(device_, plan)});
    copy.how = made_.back().kernel;
    return copy;
  }

 private:
  struct Made {
    RearrangePlan plan;
    std::shared_ptr<const Rearrange> kernel;
  };
  Device& device_;
  std::vector<Made> made_;
};

// Every lane's messages stand together, in the order of the wire.
std::vector<Lane> lanes_of(const RankPlan& plan, const std::vector<Message>& messages, bool sends,
                           infiniDtype_t dtype, Kernels& kernels) {
  std::vector<Lane> lanes;
  for (const Message& message : messages) {
    if (lanes.empty() || lanes.back().peer != message.peer) lanes.push_back({.peer = message.peer});
    Lane& lane = lanes.back();
    Piece piece{.bytes = message.elements * dtype_bytes(dtype)};
    for (size_t i = 0; i < message.boxes; ++i) {
      const RearrangePlan copy =
          plan_of(plan.boxes[message.first_box + i], plan.loops.data(), dtype);
      if (message.boxes == 1 && copy.depth == 0) {
        piece.direct = true;
        piece.shard_offset = sends ? copy.src_offset : copy.dst_offset;
      } else {
        piece.copies.push_back(kernels.copy_of(copy));
      }
    }
    lane.bytes += piece.bytes;
    lane.longest_piece = std::max(lane.longest_piece, piece.bytes);
    lane.pieces.push_back(std::move(piece));
  }
  return lanes;
}

}  // namespace

PreparedReshard prepare_reshard(Device& device, const ReshardPlan& plan, int rank,
                                const ShardStrides& strides, int64_t piece_bytes) {
  const infiniDtype_t dtype = plan.dtype();
  const RankPlan own =
      plan.plan_of(rank, strides, std::max<int64_t>(piece_bytes / dtype_bytes(dtype), 1));
  Kernels kernels(device);
  PreparedReshard made;
  made.sends = lanes_of(own, own.sends, true, dtype, kernels);
  made.receives = lanes_of(own, own.receives, false, dtype, kernels);
  const int ranks = plan.ranks();
  const auto turn = [&](int from, int to) { return (to - from + ranks) % ranks; };
  std::sort(made.sends.begin(), made.sends.end(),
            [&](const Lane& a, const Lane& b) { return turn(rank, a.peer) < turn(rank, b.peer); });
  std::sort(made.receives.begin(), made.receives.end(),
            [&](const Lane& a, const Lane& b) { return turn(a.peer, rank) < turn(b.peer, rank); });
  for (size_t i = 0; i < own.local.boxes; ++i)
    made.local.push_back(
        kernels.copy_of(plan_of(own.boxes[own.local.first_box + i], own.loops.data(), dtype)));
  return made;
}

}  // namespace infini
