// Filling and emptying shared memory by turns.
#include "reshard/shared_lanes.h"

#include <algorithm>

namespace infini {

Greeting SharedLanes::greeting_of(const State& state) const {
  Greeting greeting;
  greeting.hash = hash_;
  greeting.bytes = static_cast<uint64_t>(state.lane->bytes - state.passed);
  greeting.piece_bytes = static_cast<uint64_t>(memory_.piece_bytes());
  return greeting;
}

void SharedLanes::go_on(State& state) { state.passed += state.lane->pieces[state.next++].bytes; }

// Lanes read neighbouring elements: what all their next pieces lie in is read once, in its order, while each of them alone would
// skip through it. Only where they fill it.
void SharedLanes::fetch(const Piece& piece) {
  constexpr int64_t line = 64;
  const int64_t bytes = piece.shard.end - piece.shard.begin;
  const int64_t of_all = piece.bytes * static_cast<int64_t>(sends_.size() + 1);
  if (bytes == piece.bytes || bytes > of_all) return;
  for (int64_t at = std::max(fetched_, piece.shard.begin); at < piece.shard.end; at += line)
    __builtin_prefetch(src_ + at, 0, 2);
  fetched_ = std::max(fetched_, piece.shard.end);
}

bool SharedLanes::send(State& state) {
  SharedMemory::Place place;
  if (!memory_.place_to_fill(state.lane->peer, place)) return false;
  *place.greeting = greeting_of(state);
  fetch(state.lane->pieces[state.next]);
  staging_.pack_to(place.data, state.lane->pieces[state.next], src_);
  memory_.filled(state.lane->peer);
  go_on(state);
  return true;
}

bool SharedLanes::receive(State& state) const {
  SharedMemory::Place place;
  if (!memory_.place_to_empty(state.lane->peer, place)) return false;
  require_same(*place.greeting, greeting_of(state), state.lane->peer);
  staging_.unpack_from(place.data, state.lane->pieces[state.next], dst_);
  memory_.emptied(state.lane->peer);
  go_on(state);
  return true;
}

bool SharedLanes::step() {
  // A lane goes on by one piece before the next one's turn: lanes read neighbouring elements.
  bool any = false;
  for (State& state : sends_) any = send(state) || any;
  for (State& state : receives_) any = receive(state) || any;
  const auto over = [](const State& state) { return state.next == state.lane->pieces.size(); };
  std::erase_if(sends_, over);
  std::erase_if(receives_, over);
  return any;
}

std::string SharedLanes::waited_for() const {
  std::string peers;
  const auto tell = [&](const std::vector<State>& states, const char* what) {
    for (const State& state : states)
      if (peers.size() < 60)
        peers += (peers.empty() ? "" : ", ") + std::string(what) + std::to_string(state.lane->peer);
  };
  tell(receives_, "a message of rank ");
  tell(sends_, "sending to rank ");
  return peers;
}

}  // namespace infini
