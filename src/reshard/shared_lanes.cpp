// Filling and emptying shared memory by turns.
#include "reshard/shared_lanes.h"

namespace infini {

Greeting SharedLanes::greeting_of(const State& state) const {
  Greeting greeting;
  greeting.hash = hash_;
  greeting.bytes = static_cast<uint64_t>(state.lane->bytes - state.passed);
  greeting.piece_bytes = static_cast<uint64_t>(memory_.piece_bytes());
  return greeting;
}

void SharedLanes::go_on(State& state) { state.passed += state.lane->pieces[state.next++].bytes; }

bool SharedLanes::send(State& state) const {
  SharedMemory::Place place;
  if (!memory_.place_to_fill(state.lane->peer, place)) return false;
  *place.greeting = greeting_of(state);
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
