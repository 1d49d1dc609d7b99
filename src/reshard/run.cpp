// The exchange: lanes to and from peers, two pieces of each in flight, packing while earlier ones fly. What stays on the rank is
// copied in parts whenever no message asks for anything.
//
// A sender tells in a greeting what it is about to send; a receiver that expects something else fails before it takes any of
// it. Lanes begin in turns, as many as the staging memory allows; at least one in each direction does. The earliest
// unfinished lane of all ranks then has begun on both of its sides, so that something always goes on.
//
// Ranks that share memory exchange through it, with no message and nothing posted. Transports with rounds do all by these.
#include "reshard/run.h"

#include <algorithm>
#include <optional>

#include "reshard/by_rounds.h"
#include "reshard/prepared.h"
#include "reshard/shards.h"
#include "reshard/shared/shared_lanes.h"
#include "reshard/staging.h"
#include "reshard/wire/agreement.h"
#include "reshard/wire/greeting.h"
#include "reshard/wire/waiting.h"
#include "reshard/wire/wire.h"

namespace infini {
namespace {

struct LaneState {
  const Lane* lane = nullptr;
  bool sends = false;
  size_t next = 0, done = 0;  // pieces
  int64_t staging = 0;
  Greeting greeting;
  Slot slots[2];
};

class Run {
 public:
  Run(Device& device, const ReshardPlan& plan, const PreparedReshard& prepared, char* dst,
      const char* src, Wire& wire, SharedMemory& memory, const ReshardSettings& settings)
      : plan_(plan),
        dst_(dst),
        src_(src),
        wire_(wire),
        settings_(settings),
        staging_(device, wire.takes_device_memory()),
        shared_(memory, staging_, plan.hash(), dst, src, prepared.joint),
        local_(prepared.local) {
    for (const Lane& lane : prepared.sends) add(lane, true);
    sends_ = states_.size();
    for (const Lane& lane : prepared.receives) add(lane, false);
  }

  void go() {
    begin_lanes(true);
    begin_lanes(false);
    for (Waiting waiting(settings_.timeout);;) {
      if (step()) {
        waiting.over();
      } else if (shared_.done() && wire_.posted() == 0) {
        break;
      } else if (shared_.done()) {
        go_on(flights_[wire_.wait_any(after_seconds(settings_.timeout)).number]);
        waiting.over();
      } else if (!waiting.again()) {
        wire_.fail_late(shared_.waited_for());
      }
    }
    staging_.finish();
  }

  // After a failure. What the transport may still use is never freed.
  void give_up() noexcept {
    if (wire_.give_up()) return;
    for (auto& state : states_) {
      for (Slot& slot : state->slots) slot.packed.let_go(), slot.host.let_go();
      (void)state.release();
    }
  }

 private:
  // What can be done without waiting; what stays on the rank when no other asks for anything.
  bool step() {
    bool any = shared_.step();
    constexpr int most_parts = 4;  // or others would wait for a long local copy
    for (int i = 0; i < most_parts && next_local_ < local_.size() &&
                    shared_.has_come_to(next_local_, local_.size());
         ++i, any = true)
      copy_local();
    // Those of other machines do not wait until all that goes through shared memory has.
    if (const auto done = wire_.poll()) {
      go_on(flights_[done->number]);
      any = true;
    }
    if (any || next_local_ == local_.size()) return any;
    copy_local();
    return true;
  }
  void copy_local() { local_[next_local_++].run(dst_, src_, nullptr); }

  enum class What { greeting, piece };
  struct Flight {
    LaneState* state;
    What what;
    size_t piece;
    Slot* slot;
  };
  struct Side {
    size_t next = 0;      // lane to begin, of this side's
    int64_t staging = 0;  // that its lanes hold
    size_t open = 0;      // lanes
  };

  void add(const Lane& lane, bool sends) {
    if (lane.shared) return shared_.add(lane, sends);
    states_.push_back(std::make_unique<LaneState>());
    LaneState& state = *states_.back();
    state.lane = &lane;
    state.sends = sends;
    state.staging = 2 * staging_.bytes_needed(lane);
    state.greeting.hash = plan_.hash();
    state.greeting.bytes = static_cast<uint64_t>(lane.bytes);
    state.greeting.piece_bytes = static_cast<uint64_t>(settings_.piece_bytes);
  }
  Side& side_of(bool sends) { return sends ? sending_ : receiving_; }
  size_t first_of(bool sends) const { return sends ? 0 : sends_; }
  size_t end_of(bool sends) const { return sends ? sends_ : states_.size(); }

  void begin_lanes(bool sends) {
    Side& side = side_of(sends);
    const size_t first = side.next;
    while (first_of(sends) + side.next < end_of(sends)) {
      LaneState& state = *states_[first_of(sends) + side.next];
      if (side.open > 0 && side.staging + state.staging > settings_.staging_bytes / 2) break;
      ++side.next, ++side.open;
      side.staging += state.staging;
      const size_t slots = std::min<size_t>(2, state.lane->pieces.size());
      for (size_t i = 0; i < slots; ++i) state.slots[i] = staging_.make_slot(*state.lane);
      begin(state);
    }
    // Lanes read neighbouring elements: the first pieces of all of them before anybody's second.
    if (sends)
      for (size_t i = first; i < side.next; ++i) post_pieces(*states_[first_of(sends) + i]);
  }
  void begin(LaneState& state) {
    const int peer = state.lane->peer;
    if (!state.sends) {
      fly(wire_.receive(peer, settings_.tag, &state.greeting, sizeof state.greeting),
          {&state, What::greeting, 0, nullptr});
      return;
    }
    fly(wire_.send(peer, settings_.tag, &state.greeting, sizeof state.greeting),
        {&state, What::greeting, 0, nullptr});
    post(state, state.slots[0]);
  }
  void fly(size_t number, const Flight& flight) {
    if (flights_.size() <= number) flights_.resize(number + 1);
    flights_[number] = flight;
  }

  void post_pieces(LaneState& state) {
    for (Slot& slot : state.slots)
      if (!slot.busy && state.next < state.lane->pieces.size()) post(state, slot);
  }
  void post(LaneState& state, Slot& slot) {
    const size_t index = state.next++;
    const Piece& piece = state.lane->pieces[index];
    const auto bytes = static_cast<size_t>(piece.bytes);
    const int peer = state.lane->peer;
    slot.busy = true;
    const size_t number =
        state.sends
            ? wire_.send(peer, settings_.tag, staging_.pack(piece, slot, src_), bytes)
            : wire_.receive(peer, settings_.tag, staging_.landing(piece, slot, dst_), bytes);
    fly(number, {&state, What::piece, index, &slot});
  }

  void go_on(const Flight flight) {
    LaneState& state = *flight.state;
    if (flight.what == What::greeting) {
      if (!state.sends) {
        check(state);
        post_pieces(state);
      }
      return;
    }
    if (!state.sends) staging_.unpack(state.lane->pieces[flight.piece], *flight.slot, dst_);
    flight.slot->busy = false;
    if (++state.done < state.lane->pieces.size()) return post_pieces(state);
    Side& side = side_of(state.sends);
    for (Slot& slot : state.slots) slot = Slot();
    side.staging -= state.staging;
    --side.open;
    begin_lanes(state.sends);
  }

  void check(const LaneState& state) const {
    Greeting expected;
    expected.hash = plan_.hash();
    expected.bytes = static_cast<uint64_t>(state.lane->bytes);
    expected.piece_bytes = static_cast<uint64_t>(settings_.piece_bytes);
    require_same(state.greeting, expected, state.lane->peer);
  }

  const ReshardPlan& plan_;
  char* const dst_;
  const char* const src_;
  Wire& wire_;
  const ReshardSettings& settings_;
  Staging staging_;
  SharedLanes shared_;
  const std::vector<PieceCopy>& local_;
  size_t next_local_ = 0;
  std::vector<std::unique_ptr<LaneState>> states_;  // of messages: sends, then receives
  size_t sends_ = 0;                                // among them
  std::vector<Flight> flights_;                     // by number of the wire's request
  Side sending_, receiving_;
};

// All lanes' pieces together stay in a core's own cache, from where the other side takes them; below this, messages cost more
// than they carry.
int64_t usual_piece_bytes(int ranks) {
  return std::clamp<int64_t>((1 << 20) / ranks, 64 << 10, 512 << 10);
}

void exchange(Device& device, const ReshardPlan& plan, PreparedReshards& kept, const Shards& shards,
              Wire& wire, std::optional<SharedMemory>& shared, ReshardSettings settings) {
  if (!takes_part(plan, wire, shards)) return;
  if (settings.piece_bytes == 0) settings.piece_bytes = usual_piece_bytes(plan.ranks());
  SharedMemory& memory = shared.emplace(wire, device.kind() == INFINI_DEVICE_CPU);
  const PieceSizes sizes{settings.piece_bytes, memory.piece_bytes(), memory.neighbours()};
  const auto prepared = kept.get(device, plan, wire.rank(), shards.strides, sizes);
  Run run(device, plan, *prepared, static_cast<char*>(shards.dst),
          static_cast<const char*>(shards.src), wire, memory, settings);
  try {
    run.go();
  } catch (...) {
    run.give_up();
    throw;
  }
}

}  // namespace

void run_reshard(Device& device, const ReshardPlan& plan, PreparedReshards& kept, void* dst,
                 const void* src, const ShardStrides& strides, const infiniTransport_t* transport,
                 const ReshardSettings& settings) {
  Wire wire(transport);
  const Shards shards{dst, src, strides};
  if (wire.has_rounds()) return run_by_rounds(device, plan, kept, shards, wire, settings);
  Agreement agreement(wire, settings.tag + 1, plan.hash(), settings.timeout);
  std::optional<SharedMemory> shared;
  const auto failed = [&] {
    if (shared) shared->spoil();
    if (settings.agree) (void)agreement.reach(false);
  };
  try {
    exchange(device, plan, kept, shards, wire, shared, settings);
  } catch (const Error& error) {
    failed();
    fail(error.status(), error.what(), "; dst is incomplete");
  } catch (...) {
    failed();
    throw;
  }
  if (!settings.agree || agreement.reach(true)) return;
  if (shared) shared->spoil();
  fail(INFINI_STATUS_INTERNAL_ERROR, agreement.why(), "; dst may be incomplete on any rank");
}

}  // namespace infini
