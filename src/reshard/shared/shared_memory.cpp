// Queues in shared memory.
#include "reshard/shared/shared_memory.h"

#include <algorithm>

#include "base/error.h"

namespace infini {

SharedMemory::SharedMemory(const Wire& wire, bool wanted) : wire_(wire) {
  if (!wanted || wire.shared_bytes() == 0 || wire.shared(wire.rank()) == nullptr) return;
  const auto ranks = static_cast<size_t>(wire.ranks());
  neighbours_.assign(ranks, false);
  numbers_.assign(ranks, 0);
  for (int rank = 0; rank < wire.ranks(); ++rank) {
    if (wire.shared(rank) == nullptr) continue;
    require(reinterpret_cast<uintptr_t>(wire.shared(rank)) % line == 0, INFINI_STATUS_BAD_PARAM,
            "the shared memory of rank ", rank, " begins at no multiple of ", line, " bytes");
    numbers_[static_cast<size_t>(rank)] = ranks_here_++;
    neighbours_[static_cast<size_t>(rank)] = rank != wire.rank();
  }
  constexpr size_t least = 1024;  // below this a piece costs more than it carries
  const size_t each = wire.shared_bytes() / ranks_here_;
  if (ranks_here_ == 1 || each < sizeof(Counts) + slots * least) {
    neighbours_.clear();
    return;
  }
  require(spoiled().load(std::memory_order_relaxed) == 0, INFINI_STATUS_INTERNAL_ERROR,
          "an earlier run over this transport failed; make a new one");
  piece_bytes_ = static_cast<int64_t>((each - sizeof(Counts)) / slots / line * line);
  ends_.resize(ranks);
  for (int rank = 0; rank < wire.ranks(); ++rank)
    if (neighbours_[static_cast<size_t>(rank)]) {
      const Counts& own = counts(wire.rank(), rank);
      Ends& here = ends(rank);
      here.filled = here.their_emptied = own.filled.load(std::memory_order_relaxed);
      here.emptied = here.their_filled = own.emptied.load(std::memory_order_relaxed);
      here.their_emptied -= slots;  // not known yet
    }
}

namespace {

// One side may have gone on to whole turns before the other.
int64_t difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }

}  // namespace

char* SharedMemory::place(int to, size_t from_number, uint64_t piece) const {
  return part(to) + ranks_here_ * sizeof(Counts) +
         (from_number * slots + piece % slots) * static_cast<size_t>(piece_bytes_);
}

char* SharedMemory::place_to_fill(int peer) {
  Ends& here = ends(peer);
  if (difference(here.filled, here.their_emptied) >= slots)
    here.their_emptied = counts(peer, wire_.rank()).emptied.load(std::memory_order_acquire);
  if (difference(here.filled, here.their_emptied) >= slots) return nullptr;
  return place(peer, number_of(wire_.rank()), here.filled);
}

void SharedMemory::filled(int peer) {
  counts(wire_.rank(), peer).filled.store(++ends(peer).filled, std::memory_order_release);
}

const char* SharedMemory::place_to_empty(int peer) {
  Ends& here = ends(peer);
  if (difference(here.their_filled, here.emptied) <= 0)
    here.their_filled = counts(peer, wire_.rank()).filled.load(std::memory_order_acquire);
  if (difference(here.their_filled, here.emptied) <= 0) return nullptr;
  return place(wire_.rank(), number_of(peer), here.emptied);
}

void SharedMemory::emptied(int peer) {
  counts(wire_.rank(), peer).emptied.store(++ends(peer).emptied, std::memory_order_release);
}

void SharedMemory::all_filled(int peer) {
  Ends& here = ends(peer);
  here.filled = whole_turns(here.filled);
  counts(wire_.rank(), peer).filled.store(here.filled, std::memory_order_release);
}

void SharedMemory::all_emptied(int peer) {
  Ends& here = ends(peer);
  here.emptied = whole_turns(here.emptied);
  counts(wire_.rank(), peer).emptied.store(here.emptied, std::memory_order_release);
}

void SharedMemory::spoil() {
  if (piece_bytes_ > 0) spoiled().store(1, std::memory_order_relaxed);
}

}  // namespace infini
