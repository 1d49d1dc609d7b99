// The reshard plan: what each rank sends, receives and copies when a tensor changes from one distribution to another.
//
// Pure data, the same on every rank. It keeps tables for each dim alone; what one rank does is made when it is asked for.
// Law: over all ranks every element of every destination shard is written exactly once, from its place in a source shard;
// what a rank holds already never travels; of replicas each sends an equal share.
#pragma once

#include <functional>
#include <string>

#include "base/export.h"
#include "plan/rearrange/rearrange_plan.h"
#include "plan/reshard/overlap.h"

namespace infini {

struct BoxLoop {
  int64_t extent, dst_stride, src_stride;  // in elements
};

// A nest of loops over elements in wire order, the outermost first. Sends write a dense message, receives read one, local
// boxes do both sides at once.
struct Box {
  int64_t dst_start = 0, src_start = 0, elements = 0;  // starts in elements
  size_t first_loop = 0, loops = 0;                    // of RankPlan::loops
};

struct Message {
  int peer = 0;
  int64_t elements = 0;
  size_t first_box = 0, boxes = 0;  // of RankPlan::boxes
};

struct RankPlan {
  std::vector<Message> sends, receives;  // ascending by peer
  Message local;                         // from the rank to itself, without a message
  std::vector<Box> boxes;
  std::vector<BoxLoop> loops;
};

// How shards lie in memory: strides in elements, or empty for row-major.
struct ShardStrides {
  std::vector<int64_t> dst, src;
};

// Elements of a message to or from a peer, at most; at least 1.
struct LongestMessage {
  std::function<int64_t(int peer)> elements;  // none: any number
  bool to_itself = false;  // what is local is also among the messages, from the rank to itself
};

class ReshardPlan {
 public:
  // Dim i of the destination is dim order[i] of the source; empty: the same order. Throws BAD_PARAM, BAD_TENSOR_SHAPE,
  // BAD_TENSOR_DTYPE.
  ReshardPlan(infiniDtype_t dtype, const Distribution& destination, const Distribution& source,
              std::vector<int> order = {});

  infiniDtype_t dtype() const { return dtype_; }
  int ranks() const { return ranks_; }  // 0 .. the highest that either side names
  int dims() const { return source_.rank(); }
  const Placement& source() const { return source_; }
  const Placement& destination() const { return destination_; }
  const std::vector<int>& order() const { return order_; }
  // Dims of the source from the slowest to the fastest on the wire.
  const std::vector<int>& wire_order() const { return wire_order_; }
  // Equal on all ranks that planned the same.
  uint64_t hash() const { return hash_; }

  INFINI_TOOL_EXPORT std::vector<int64_t> src_shape(
      int rank) const;  // of the rank's shard; a dim of 0 for ranks without one
  INFINI_TOOL_EXPORT std::vector<int64_t> dst_shape(int rank) const;

  const Overlap& overlap(int dim) const {
    return overlaps_[static_cast<size_t>(dim)];
  }  // dim of the source
  // The destination's parts at a place, by dims of the source; and back.
  void destination_parts(int place, int* parts) const;
  int destination_place(const int* parts, int replica) const;

  // Strides must have one number for each dim of the side. Throws BAD_PARAM for a rank outside 0..ranks()-1.
  // With `longest` a message of more is several, in the order of the wire; both sides cut at the same elements, between the
  // inner loops of a nest where these fit.
  INFINI_TOOL_EXPORT RankPlan plan_of(int rank, const ShardStrides& strides = {},
                                      const LongestMessage& longest = {}) const;

 private:
  void take_order();
  void choose_wire_order();

  infiniDtype_t dtype_;
  Placement source_, destination_;
  std::vector<int> order_, inverse_, wire_order_;
  std::vector<Overlap> overlaps_;  // by dim of the source
  int ranks_ = 1;
  uint64_t hash_ = 0;
};

// The box as a copy between base pointers, in bytes.
RearrangePlan plan_of(const Box& box, const BoxLoop* loops, infiniDtype_t dtype);

}  // namespace infini
