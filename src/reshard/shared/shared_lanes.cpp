// Filling and emptying shared memory by turns.
#include "reshard/shared/shared_lanes.h"

namespace infini {

Greeting SharedLanes::greeting_of(const Lane& lane) const {
  Greeting greeting;
  greeting.hash = hash_;
  greeting.bytes = static_cast<uint64_t>(lane.bytes);
  greeting.piece_bytes = static_cast<uint64_t>(memory_.piece_bytes());
  return greeting;
}

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
  const int peer = state.lane->peer;
  char* const place = memory_.place_to_fill(peer);
  if (place == nullptr) return false;
  if (state.next == 0) memory_.greeting_for(peer) = greeting_of(*state.lane);
  const Piece& piece = state.lane->pieces[state.next++];
  fetch(piece);
  staging_.pack_to(place, piece, src_);
  memory_.filled(peer);
  sent_ = std::max(sent_, state.next);
  if (state.over()) memory_.all_filled(peer);
  return true;
}

// All pieces are of one plan if the first one is.
void SharedLanes::check(const State& state) const {
  if (state.next == 0)
    require_same(memory_.greeting_of(state.lane->peer), greeting_of(*state.lane), state.lane->peer);
}

bool SharedLanes::receive(State& state) {
  const int peer = state.lane->peer;
  const char* const place = memory_.place_to_empty(peer);
  if (place == nullptr) return false;
  check(state);
  staging_.unpack_from(place, state.lane->pieces[state.next++], dst_);
  memory_.emptied(peer);
  if (state.over()) memory_.all_emptied(peer);
  return true;
}

bool SharedLanes::receive_all() {
  for (const State& state : receives_) {
    if (memory_.place_to_empty(state.lane->peer) == nullptr) return false;
    check(state);
  }
  if (!joint_.own.empty())
    staging_.pack_to(memory_.own_place(next_joint_), joint_.own[next_joint_], src_);
  joint_.unpack[next_joint_].run(dst_, memory_.place_of_all(next_joint_), nullptr);
  ++next_joint_;
  for (State& state : receives_) {
    memory_.emptied(state.lane->peer);
    ++state.next;
    if (state.over()) memory_.all_emptied(state.lane->peer);
  }
  return true;
}

bool SharedLanes::step() {
  for (const std::vector<State>* states : {&sends_, &receives_})
    for (const State& state : *states) memory_.fetch_counts(state.lane->peer);
  // A lane goes on by one piece before the next one's turn: lanes read neighbouring elements.
  bool any = false;
  for (State& state : sends_) any = send(state) || any;
  if (joint_pieces_ > 0)
    any = (!receives_.empty() && receive_all()) || any;
  else
    for (State& state : receives_) any = receive(state) || any;
  const auto over = [](const State& state) { return state.over(); };
  std::erase_if(sends_, over);
  std::erase_if(receives_, over);
  return any;
}

std::string SharedLanes::waited_for() const {
  std::string peers;
  const auto tell = [&](const std::vector<State>& states, const char* what, const auto& there) {
    for (const State& state : states)
      if (peers.size() < 60 && !there(state.lane->peer))
        peers += (peers.empty() ? "" : ", ") + std::string(what) + std::to_string(state.lane->peer);
  };
  tell(receives_, "a message of rank ",
       [&](int peer) { return memory_.place_to_empty(peer) != nullptr; });
  tell(sends_, "sending to rank ", [](int) { return false; });
  return peers;
}

}  // namespace infini
