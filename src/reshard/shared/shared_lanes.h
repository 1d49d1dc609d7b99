// Lanes between ranks that share memory: each piece is packed there by one side and unpacked from there by the other.
//
// Where pieces of all ranks lie side by side in the shard, those of one number are unpacked at once: every line of the shard
// is then written whole and once, past the caches if it is large.
#pragma once

#include <algorithm>
#include <string>

#include "reshard/prepared.h"
#include "reshard/shared/shared_memory.h"
#include "reshard/staging.h"

namespace infini {

class SharedLanes {
 public:
  SharedLanes(SharedMemory& memory, const Staging& staging, uint64_t plan_hash, char* dst,
              const char* src, const JointPieces& joint)
      : memory_(memory),
        staging_(staging),
        hash_(plan_hash),
        dst_(dst),
        src_(src),
        joint_(joint),
        joint_pieces_(joint.unpack.size()) {}

  void add(const Lane& lane, bool sends) {
    (sends ? sends_ : receives_).push_back({&lane});
    if (sends) most_pieces_ = std::max(most_pieces_, lane.pieces.size());
  }
  // One piece of every lane that can go on; false: none could. Throws where a peer sends something unexpected.
  bool step();
  bool done() const { return sends_.empty() && receives_.empty(); }
  // Whether as much of what is sent was read as part `number` of `count` of what stays on the rank, which lies between it: its lines
  // are then still in the caches.
  bool has_come_to(size_t number, size_t count) const {
    return number * most_pieces_ < sent_ * count;
  }
  std::string waited_for() const;

 private:
  struct State {
    const Lane* lane;
    size_t next = 0;  // piece
    bool over() const { return next == lane->pieces.size(); }
  };
  bool send(State& state);
  bool receive(State& state);
  bool receive_all();
  void check(const State& state) const;
  void fetch(const Piece& piece);
  Greeting greeting_of(const Lane& lane) const;

  SharedMemory& memory_;
  const Staging& staging_;
  const uint64_t hash_;
  char* const dst_;
  const char* const src_;
  const JointPieces& joint_;
  const size_t joint_pieces_;  // of every lane; 0: each for itself
  size_t next_joint_ = 0;
  int64_t fetched_ = 0;                  // up to here, in bytes of src
  size_t sent_ = 0, most_pieces_ = 0;    // of the lane that is furthest; of the longest
  std::vector<State> sends_, receives_;  // unfinished ones, in their turns
};

}  // namespace infini
