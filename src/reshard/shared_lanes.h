// Lanes between ranks that share memory: each piece is packed there by one side and unpacked from there by the other.
#pragma once

#include <string>

#include "reshard/prepared.h"
#include "reshard/shared_memory.h"
#include "reshard/staging.h"

namespace infini {

class SharedLanes {
 public:
  SharedLanes(const SharedMemory& memory, const Staging& staging, uint64_t plan_hash, char* dst,
              const char* src)
      : memory_(memory), staging_(staging), hash_(plan_hash), dst_(dst), src_(src) {}

  void add(const Lane& lane, bool sends) { (sends ? sends_ : receives_).push_back({&lane}); }
  // One piece of every lane that can go on; false: none could. Throws where a peer sends something unexpected.
  bool step();
  bool done() const { return sends_.empty() && receives_.empty(); }
  std::string waited_for() const;

 private:
  struct State {
    const Lane* lane;
    size_t next = 0;     // piece
    int64_t passed = 0;  // bytes of those before
  };
  bool send(State& state);
  bool receive(State& state) const;
  void fetch(const Piece& piece);
  Greeting greeting_of(const State& state) const;
  static void go_on(State& state);

  const SharedMemory& memory_;
  const Staging& staging_;
  const uint64_t hash_;
  char* const dst_;
  const char* const src_;
  int64_t fetched_ = 0;                  // up to here, in bytes of src
  std::vector<State> sends_, receives_;  // unfinished ones, in their turns
};

}  // namespace infini
