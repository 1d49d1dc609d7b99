// Queues in shared memory.
#include "reshard/shared_memory.h"

#include <algorithm>

namespace infini {

SharedMemory::SharedMemory(const Wire& wire, bool wanted) : wire_(wire) {
  if (!wanted || wire.shared_bytes() == 0 || wire.shared(wire.rank()) == nullptr) return;
  const auto ranks = static_cast<size_t>(wire.ranks());
  neighbours_.assign(ranks, false);
  numbers_.assign(ranks, 0);
  for (int rank = 0; rank < wire.ranks(); ++rank) {
    if (wire.shared(rank) == nullptr) continue;
    numbers_[static_cast<size_t>(rank)] = ranks_here_++;
    neighbours_[static_cast<size_t>(rank)] = rank != wire.rank();
  }
  constexpr size_t least = 1024;  // below this a piece costs more than it carries
  const size_t each = wire.shared_bytes() / ranks_here_;
  if (ranks_here_ > 1 && each >= sizeof(Counts) + slots * least)
    piece_bytes_ = static_cast<int64_t>((each - sizeof(Counts)) / slots / line * line);
  else
    neighbours_.clear();
}

SharedMemory::Place SharedMemory::slot(int from, int to, uint64_t number) const {
  const size_t at = number % slots;
  char* const all = part(from) + ranks_here_ * sizeof(Counts);
  return {&counts(from, to).greetings[at],
          all + (number_of(to) * slots + at) * static_cast<size_t>(piece_bytes_)};
}

bool SharedMemory::place_to_fill(int peer, Place& place) const {
  const uint64_t before = counts(wire_.rank(), peer).filled.load(std::memory_order_relaxed);
  if (before - counts(peer, wire_.rank()).emptied.load(std::memory_order_acquire) >= slots)
    return false;
  place = slot(wire_.rank(), peer, before);
  return true;
}

void SharedMemory::filled(int peer) const {
  Count& count = counts(wire_.rank(), peer).filled;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool SharedMemory::place_to_empty(int peer, Place& place) const {
  const uint64_t before = counts(wire_.rank(), peer).emptied.load(std::memory_order_relaxed);
  if (counts(peer, wire_.rank()).filled.load(std::memory_order_acquire) == before) return false;
  place = slot(peer, wire_.rank(), before);
  return true;
}

void SharedMemory::emptied(int peer) const {
  Count& count = counts(wire_.rank(), peer).emptied;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace infini
