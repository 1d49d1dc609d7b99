// Memory that ranks of one machine share (infiniTransport_t::shared), as queues of pieces between every two of them.
//
// A rank's part of it holds, for each neighbour, how many pieces it ever filled for it and how many of the neighbour's it
// emptied, and a few slots. Where these lie follows from the size of a part and the number of neighbours alone, so that all see
// the same; the numbers go on from run to run. A queue has one writer and one reader.
#pragma once

#include <atomic>
#include <vector>

#include "reshard/greeting.h"
#include "reshard/wire.h"

namespace infini {

class SharedMemory {
 public:
  // wanted: shards lie in host memory; those of devices go through page-locked memory and messages.
  SharedMemory(const Wire& wire, bool wanted);

  // Bytes of a piece at most; 0: nothing is shared.
  int64_t piece_bytes() const { return piece_bytes_; }
  // By rank: whether this one and that one share memory (nobody does with himself).
  const std::vector<bool>& neighbours() const { return neighbours_; }

  struct Place {
    Greeting* greeting;
    char* data;
  };
  // The place of the next piece for a peer, and the word that it is there. Nothing: the peer has not emptied any.
  bool place_to_fill(int peer, Place& place) const;
  void filled(int peer) const;
  // The same of the next piece from a peer.
  bool place_to_empty(int peer, Place& place) const;
  void emptied(int peer) const;

 private:
  static constexpr size_t line = 64, slots = 4;
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  using Count = std::atomic<uint64_t>;
  struct alignas(line) Counts {  // of a rank about one neighbour; each in a line of its own
    alignas(line) Count filled;
    alignas(line) Count emptied;
    alignas(line) Greeting greetings[slots];
  };

  size_t number_of(int rank) const { return numbers_[static_cast<size_t>(rank)]; }
  char* part(int rank) const { return static_cast<char*>(wire_.shared(rank)); }
  Counts& counts(int of, int about) const {
    return reinterpret_cast<Counts*>(part(of))[number_of(about)];
  }
  Place slot(int from, int to, uint64_t number) const;

  const Wire& wire_;
  std::vector<bool> neighbours_;
  std::vector<size_t> numbers_;  // of neighbours and of this rank, by rank
  size_t ranks_here_ = 0;
  int64_t piece_bytes_ = 0;
};

}  // namespace infini
