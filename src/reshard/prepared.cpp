// From a rank's plan to copies.
#include "reshard/prepared.h"

#include <algorithm>

#include "base/dtype.h"
#include "reshard/joint_plans.h"

namespace infini {

PieceCopy PieceKernels::copy_of(RearrangePlan plan) {
  PieceCopy copy{nullptr, plan.dst_offset, plan.src_offset};
  plan.dst_offset = plan.src_offset = 0;
  // Pieces of one box follow one another: the last few forms are all that come again.
  const size_t first = made_.size() > 8 ? made_.size() - 8 : 0;
  for (size_t i = made_.size(); i-- > first;)
    if (made_[i].plan == plan) {
      copy.how = made_[i].kernel;
      return copy;
    }
  made_.push_back({plan, std::make_shared<const Rearrange>(device_, plan, choice_)});
  copy.how = made_.back().kernel;
  return copy;
}

namespace {

// Every lane's messages stand together, in the order of the wire.
std::vector<Lane> lanes_of(const RankPlan& plan, const std::vector<Message>& messages, bool sends,
                           infiniDtype_t dtype, const std::function<bool(int peer)>& shares,
                           PieceKernels& kernels) {
  std::vector<Lane> lanes;
  for (const Message& message : messages) {
    if (lanes.empty() || lanes.back().peer != message.peer)
      lanes.push_back({.peer = message.peer, .shared = shares(message.peer)});
    Lane& lane = lanes.back();
    Piece piece{.bytes = message.elements * dtype_bytes(dtype)};
    piece.shard = {INT64_MAX, 0};
    for (size_t i = 0; i < message.boxes; ++i) {
      const RearrangePlan copy =
          plan_of(plan.boxes[message.first_box + i], plan.loops.data(), dtype);
      const ByteRange range = sends ? src_range(copy) : dst_range(copy);
      piece.shard = {std::min(piece.shard.begin, range.begin),
                     std::max(piece.shard.end, range.end)};
      if (message.boxes == 1 && copy.depth == 0 && !lane.shared) {
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

// A copy in parts of about `part_bytes`, cut along its outermost loop (or its atom), so that messages are seen to between them.
void append_parts(const RearrangePlan& whole, int64_t part_bytes, PieceKernels& kernels,
                  std::vector<PieceCopy>& out) {
  const int64_t extent = whole.depth == 0 ? whole.atom_bytes : whole.loops[0].extent;
  if (extent == 0) return;
  const int64_t each = moved_bytes(whole) / extent;  // of one iteration, or of one byte
  const int64_t step = std::max<int64_t>(part_bytes / std::max<int64_t>(each, 1), 1);
  for (int64_t first = 0; first < extent; first += step) {
    RearrangePlan part = whole;
    const int64_t count = std::min(step, extent - first);
    part.dst_offset += first * (whole.depth == 0 ? 1 : whole.loops[0].dst_step);
    part.src_offset += first * (whole.depth == 0 ? 1 : whole.loops[0].src_step);
    if (whole.depth == 0) {
      part.atom_bytes = count;
    } else if (count > 1) {
      part.loops[0].extent = count;
    } else {
      std::copy(whole.loops + 1, whole.loops + whole.depth, part.loops);
      --part.depth;
    }
    out.push_back(kernels.copy_of(part));
  }
}

// The lane from the rank to itself is none; it is used only where it is unpacked with others.
void take_own(PreparedReshard& made, int rank) {
  for (std::vector<Lane>* lanes : {&made.sends, &made.receives}) {
    const auto own = std::find_if(lanes->begin(), lanes->end(),
                                  [&](const Lane& lane) { return lane.peer == rank; });
    if (own == lanes->end()) continue;
    if (lanes == &made.sends && !made.joint.unpack.empty()) made.joint.own = std::move(own->pieces);
    lanes->erase(own);
  }
}

void sort_lanes(PreparedReshard& made, int rank, int ranks) {
  const auto turn = [&](int from, int to) { return (to - from + ranks) % ranks; };
  std::sort(made.sends.begin(), made.sends.end(),
            [&](const Lane& a, const Lane& b) { return turn(rank, a.peer) < turn(rank, b.peer); });
  std::sort(made.receives.begin(), made.receives.end(),
            [&](const Lane& a, const Lane& b) { return turn(a.peer, rank) < turn(b.peer, rank); });
}

}  // namespace

PreparedReshard prepare_reshard(Device& device, const ReshardPlan& plan, int rank,
                                const ShardStrides& strides, const PieceSizes& sizes) {
  const infiniDtype_t dtype = plan.dtype();
  const bool some_shared = sizes.ranks_here() > 1;
  const auto shares = [&](int peer) {
    return sizes.shares_with(peer) || (some_shared && peer == rank);
  };
  const auto longest = [&](int peer) {
    const int64_t bytes = shares(peer) ? sizes.shared : sizes.message;
    return std::max<int64_t>(bytes / dtype_bytes(dtype), 1);
  };
  const RankPlan own = plan.plan_of(rank, strides, {longest, some_shared});
  int64_t shard_bytes = dtype_bytes(dtype);
  for (const int64_t extent : plan.dst_shape(rank)) shard_bytes *= extent;
  // What is staged is read again at once; shards of all ranks here are in the same caches.
  PieceKernels packing(device), unpacking(device, shard_bytes * sizes.ranks_here());
  PreparedReshard made;
  made.sends = lanes_of(own, own.sends, true, dtype, shares, packing);
  made.receives = lanes_of(own, own.receives, false, dtype, shares, unpacking);
  for (const RearrangePlan& joint : joint_plans(own, dtype, sizes, rank))
    made.joint.unpack.push_back(unpacking.copy_of(joint));
  take_own(made, rank);
  sort_lanes(made, rank, plan.ranks());
  // As long as what is sent to a neighbour at once, so that both are read together.
  const int64_t part_bytes = some_shared ? sizes.shared : sizes.message;
  for (size_t i = 0; made.joint.own.empty() && i < own.local.boxes; ++i)
    append_parts(plan_of(own.boxes[own.local.first_box + i], own.loops.data(), dtype), part_bytes,
                 unpacking, made.local);
  return made;
}

std::shared_ptr<const PreparedReshard> PreparedReshards::get(Device& device,
                                                             const ReshardPlan& plan, int rank,
                                                             const ShardStrides& strides,
                                                             const PieceSizes& sizes) {
  const auto fits = [&](const Kept& one) {
    return one.device == &device && one.rank == rank && one.sizes == sizes &&
           one.strides.dst == strides.dst && one.strides.src == strides.src;
  };
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), fits);
    if (found != kept_.end()) return found->prepared;
  }
  auto made =
      std::make_shared<const PreparedReshard>(prepare_reshard(device, plan, rank, strides, sizes));
  const std::lock_guard lock(mutex_);
  if (kept_.size() == most_kept) kept_.erase(kept_.begin());
  kept_.push_back({&device, rank, sizes, strides, made});
  return made;
}

}  // namespace infini
