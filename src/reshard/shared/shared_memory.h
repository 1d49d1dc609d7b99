// Memory that ranks of one machine share (infiniTransport_t::shared), as queues of pieces between every two of them.
//
// A rank's part of it holds, for each neighbour, how many pieces it ever filled for it and how many of the neighbour's it
// emptied, and the slots of what comes from each, one rank's at one distance from the next one's. Where these lie follows from the
// size of a part and the number of neighbours alone, so that all see the same. The numbers go on from run to run, each run
// from a multiple of the slots on: its first pieces lie in the first slots of all queues. A queue has one writer and one reader.
#pragma once

#include <atomic>
#include <vector>

#include "reshard/wire/greeting.h"
#include "reshard/wire/wire.h"

namespace infini {

class SharedMemory {
 public:
  // Of one run. wanted: shards lie in host memory; those of devices go through page-locked memory and messages. Throws where an
  // earlier run of this rank failed.
  SharedMemory(const Wire& wire, bool wanted);

  // Bytes of a piece at most; 0: nothing is shared.
  int64_t piece_bytes() const { return piece_bytes_; }
  // By rank: whether this one and that one share memory (nobody does with himself).
  const std::vector<bool>& neighbours() const { return neighbours_; }

  // Where the next piece for a peer is to lie, or null: the peer has not emptied any; and the word that it is there.
  char* place_to_fill(int peer);
  void filled(int peer);
  // The same of the next piece from a peer.
  const char* place_to_empty(int peer);
  void emptied(int peer);
  // Where the pieces with one number of a run lie that come to this rank: of all ranks, lane_bytes apart, this rank's own one
  // (which nobody is told of) among them.
  char* place_of_all(size_t piece) const { return place(wire_.rank(), 0, piece); }
  char* own_place(size_t piece) const {
    return place(wire_.rank(), number_of(wire_.rank()), piece);
  }
  // From the slots of one rank to those of the next one that shares memory.
  static int64_t lane_bytes(int64_t piece_bytes) { return slots * piece_bytes; }

  // After the last piece of a run for a peer, and from it.
  void all_filled(int peer);
  void all_emptied(int peer);
  // After a run that failed, here or elsewhere: pieces of it may still lie there, which a later one must not take for its own.
  void spoil();

  // What is told before a run's first piece.
  Greeting& greeting_for(int peer) { return counts(wire_.rank(), peer).greeting; }
  const Greeting& greeting_of(int peer) const { return counts(peer, wire_.rank()).greeting; }
  // Will soon be asked for a place.
  void fetch_counts(int peer) const {
    __builtin_prefetch(&counts(peer, wire_.rank()).filled);
    __builtin_prefetch(&counts(peer, wire_.rank()).emptied);
  }

 private:
  static constexpr int64_t slots = 4;
  static constexpr size_t line = 64;
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  using Count = std::atomic<uint64_t>;
  struct alignas(line) Counts {  // of a rank about one neighbour; each in a line of its own
    alignas(line) Count filled;
    alignas(line) Count emptied;
    alignas(line) Greeting greeting;
  };
  // This rank's own numbers, and the neighbour's as they were last seen: they are seldom asked for, since that takes long.
  struct Ends {
    uint64_t filled = 0, emptied = 0, their_filled = 0, their_emptied = 0;
  };

  size_t number_of(int rank) const { return numbers_[static_cast<size_t>(rank)]; }
  char* part(int rank) const { return static_cast<char*>(wire_.shared(rank)); }
  Counts& counts(int of, int about) const {
    return reinterpret_cast<Counts*>(part(of))[number_of(about)];
  }
  // Nobody is his own neighbour: what a rank would tell itself says whether a run failed.
  Count& spoiled() { return counts(wire_.rank(), wire_.rank()).filled; }
  char* place(int to, size_t from_number, uint64_t piece) const;
  Ends& ends(int peer) { return ends_[static_cast<size_t>(peer)]; }
  static uint64_t whole_turns(uint64_t number) { return (number + slots - 1) / slots * slots; }

  const Wire& wire_;
  std::vector<bool> neighbours_;
  std::vector<size_t> numbers_;  // of neighbours and of this rank, by rank
  std::vector<Ends> ends_;       // by rank
  size_t ranks_here_ = 0;
  int64_t piece_bytes_ = 0;
};

}  // namespace infini
