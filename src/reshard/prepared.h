// A resharding made ready for one rank: every message in pieces, each with the copies that pack or unpack it.
#pragma once

#include <memory>
#include <vector>

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

struct Piece {
  int64_t bytes = 0;
  bool direct = false;  // it lies in the shard as it lies on the wire, from shard_offset on
  int64_t shard_offset = 0;
  std::vector<PieceCopy> copies;
};

// All that goes to one peer, or comes from it.
struct Lane {
  int peer = 0;
  int64_t bytes = 0, longest_piece = 0;
  std::vector<Piece> pieces;
};

struct PreparedReshard {
  // Lanes stand in the order in which ranks turn to one another: sends to the next ranks first, receives from the ones
  // before first, so that the earliest unfinished lane of one side is that of the other, too.
  std::vector<Lane> sends, receives;
  std::vector<PieceCopy> local;
};

PreparedReshard prepare_reshard(Device& device, const ReshardPlan& plan, int rank,
                                const ShardStrides& strides, int64_t piece_bytes);

}  // namespace infini
