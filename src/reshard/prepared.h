// A resharding made ready for one rank: every message in pieces, each with the copies that pack or unpack it.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/threads/mutex.h"
#include "ops/rearrange.h"
#include "plan/reshard/reshard_plan.h"

namespace infini {

// One strided copy between a shard and a piece; copies of the same form share their kernel.
struct PieceCopy {
  std::shared_ptr<const Rearrange> how;
  int64_t dst_offset = 0, src_offset = 0;  // in bytes
  void run(char* dst, const char* src, void* stream) const {
    how->run(dst + dst_offset, src + src_offset, stream);
  }
};

// Kernels by what they move, wherever that lies. whole_bytes: of all that is written there, where that is more than a piece.
class PieceKernels {
 public:
  explicit PieceKernels(Device& device, int64_t whole_bytes = 0) : device_(device) {
    choice_.whole_bytes = whole_bytes;
  }
  PieceCopy copy_of(RearrangePlan plan);

 private:
  struct Made {
    RearrangePlan plan;
    std::shared_ptr<const Rearrange> kernel;
  };
  Device& device_;
  Choice choice_;
  std::vector<Made> made_;
};

struct Piece {
  int64_t bytes = 0;
  bool direct = false;  // a message lies in the shard as it does on the wire, from shard_offset on
  int64_t shard_offset = 0;
  std::vector<PieceCopy> copies;
  ByteRange shard;  // that lies there, with what lies between
};

// All that goes to one peer, or comes from it.
struct Lane {
  int peer = 0;
  bool shared = false;  // through memory that both see; else as messages
  int64_t bytes = 0, longest_piece = 0;
  std::vector<Piece> pieces;
};

// What comes through shared memory, by numbers of pieces, where those with one number lie side by side in the shard: they are
// unpacked at once.
struct JointPieces {
  std::vector<PieceCopy> unpack;  // from SharedMemory::place_of_all; none: each piece for itself
  std::vector<Piece> own;         // this rank's, packed for itself; none: nothing is local
};

struct PreparedReshard {
  // Lanes stand in the order in which ranks turn to one another: sends to the next ranks first, receives from the ones
  // before first, so that the earliest unfinished lane of one side is that of the other, too.
  std::vector<Lane> sends, receives;
  JointPieces joint;
  std::vector<PieceCopy>
      local;  // in parts no longer than a piece where it can be cut; not what is among joint.own
};

// How long pieces are at most.
struct PieceSizes {
  int64_t message = 0, shared = 0;  // in bytes: in messages, and in memory shared with a peer
  std::vector<bool> shares;         // by rank: memory; empty: nobody
  bool shares_with(int peer) const {
    return static_cast<size_t>(peer) < shares.size() && shares[static_cast<size_t>(peer)];
  }
  int64_t bytes(int peer) const { return shares_with(peer) ? shared : message; }
  // Of a rank among those that share memory, `own` being the one that asks.
  int64_t number_of(int rank, int own) const {
    return std::count(shares.begin(), shares.begin() + rank, true) + (own < rank ? 1 : 0);
  }
  int64_t ranks_here() const { return 1 + std::count(shares.begin(), shares.end(), true); }
  bool operator==(const PieceSizes&) const = default;
};

PreparedReshard prepare_reshard(Device& device, const ReshardPlan& plan, int rank,
                                const ShardStrides& strides, const PieceSizes& sizes);

// What the last runs of one plan were prepared as, for the next ones. Any number of threads may ask.
class PreparedReshards {
 public:
  std::shared_ptr<const PreparedReshard> get(Device& device, const ReshardPlan& plan, int rank,
                                             const ShardStrides& strides, const PieceSizes& sizes);

 private:
  static constexpr size_t most_kept = 4;
  struct Kept {
    Device* device;
    int rank;
    PieceSizes sizes;
    ShardStrides strides;
    std::shared_ptr<const PreparedReshard> prepared;
  };
  Mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace infini
