// Packing, carrying and unpacking by rounds.
#include "reshard/rounds.h"

#include <algorithm>

#include "reshard/wire/waiting.h"

namespace infini {
namespace {

// Rounds that a stream holds and that have not ended, at most: the host notices a peer that is gone by the oldest of them.
constexpr size_t most_ahead = 8;

bool packs(const Lane& lane) {
  return std::any_of(lane.pieces.begin(), lane.pieces.end(),
                     [](const Piece& piece) { return !piece.direct; });
}

}  // namespace

RoundsRun::RoundsRun(Device& device, const PreparedReshard& prepared, char* dst, const char* src,
                     Wire& wire, const ReshardSettings& settings, bool on_wire)
    : place_(place_of(device.kind(), device.id())),
      prepared_(prepared),
      dst_(dst),
      src_(src),
      wire_(wire),
      settings_(settings),
      on_device_(device.kind() != INFINI_DEVICE_CPU),
      on_wire_(on_wire),
      stream_(settings.stream) {
  for (Flight& one : flights_)
    for (const std::vector<Lane>* lanes : {&prepared.sends, &prepared.receives})
      for (const Lane& lane : *lanes) one.buffers.push_back(make_buffer(lane));
}

RoundsRun::~RoundsRun() {
  for (void* const mark : marks_) place_.device.destroy_event(mark);
}

RoundsRun::Buffer RoundsRun::make_buffer(const Lane& lane) {
  Buffer buffer;
  place_.device.make_current();
  const auto bytes = static_cast<size_t>(lane.longest_piece);
  if (packs(lane)) buffer.packed = Block(place_.memory, bytes, stream_);
  if (on_device_ && !on_wire_) buffer.host = Block(place_.pinned, bytes, stream_);
  return buffer;
}

const char* RoundsRun::pack(const Piece& piece, const Buffer& buffer) {
  const char* const from = piece.direct ? src_ + piece.shard_offset : buffer.packed.get();
  for (const PieceCopy& copy : piece.copies) copy.run(buffer.packed.get(), src_, stream_);
  if (!on_device_ || on_wire_) return from;
  place_.device.copy_async(buffer.host.get(), from, static_cast<size_t>(piece.bytes),
                           INFINIRT_MEMCPY_D2H, stream_);
  return buffer.host.get();
}

char* RoundsRun::landing(const Piece& piece, const Buffer& buffer) const {
  if (on_device_ && !on_wire_) return buffer.host.get();
  return piece.direct ? dst_ + piece.shard_offset : buffer.packed.get();
}

void RoundsRun::unpack(const Piece& piece, const Buffer& buffer) {
  if (on_device_ && !on_wire_)
    place_.device.copy_async(piece.direct ? dst_ + piece.shard_offset : buffer.packed.get(),
                             buffer.host.get(), static_cast<size_t>(piece.bytes),
                             INFINIRT_MEMCPY_H2D, stream_);
  for (const PieceCopy& copy : piece.copies) copy.run(dst_, buffer.packed.get(), stream_);
}

void RoundsRun::begin(size_t number) {
  Flight& one = flight(number);
  place_.device.make_current();
  one.round.transfers.clear();
  const Buffer* buffer = one.buffers.data();
  for (const Lane& lane : prepared_.sends) {
    if (const Piece* piece = piece_of(lane, number))
      one.round.transfers.push_back({lane.peer, 1, const_cast<char*>(pack(*piece, *buffer)),
                                     static_cast<size_t>(piece->bytes)});
    ++buffer;
  }
  for (const Lane& lane : prepared_.receives) {
    if (const Piece* piece = piece_of(lane, number))
      one.round.transfers.push_back(
          {lane.peer, 0, landing(*piece, *buffer), static_cast<size_t>(piece->bytes)});
    ++buffer;
  }
  if (on_device_ && !on_wire_) place_.device.synchronize_stream(stream_);
  wire_.begin_round(one.round, settings_.tag, on_wire_, stream_);
}

void RoundsRun::end(size_t number) {
  Flight& one = flight(number);
  if (!wire_.end_round(one.round, stream_, settings_.timeout)) wire_.fail_late(one.round);
  place_.device.make_current();
  const Buffer* buffer = one.buffers.data() + prepared_.sends.size();
  for (const Lane& lane : prepared_.receives) {
    if (const Piece* piece = piece_of(lane, number)) unpack(*piece, *buffer);
    ++buffer;
  }
  mark(number);
}

// An equal share of what stays on the rank in every turn.
void RoundsRun::copy_local(size_t turn, size_t turns) {
  const std::vector<PieceCopy>& local = prepared_.local;
  place_.device.make_current();
  while (next_local_ < local.size() && next_local_ * turns < local.size() * (turn + 1))
    local[next_local_++].run(dst_, src_, stream_);
}

void RoundsRun::mark(size_t number) {
  if (!on_device_ || !settings_.agree) return;
  if (number == marks_.size() && marks_.size() < most_ahead)
    marks_.push_back(place_.device.create_event(INFINIRT_EVENT_DISABLE_TIMING));
  else if (number >= most_ahead)
    wait_for(number - most_ahead);
  place_.device.record_event(marks_[number % most_ahead], stream_);
}

void RoundsRun::wait_for(size_t number) {
  for (Waiting waiting(settings_.timeout);
       !place_.device.event_complete(marks_[number % most_ahead]);)
    if (!waiting.again()) wire_.fail_late("round " + std::to_string(number) + " on the device");
}

void RoundsRun::go() {
  size_t rounds = 0;
  for (const std::vector<Lane>* lanes : {&prepared_.sends, &prepared_.receives})
    for (const Lane& lane : *lanes) rounds = std::max(rounds, lane.pieces.size());
  for (size_t number = 0; number <= rounds; ++number) {
    if (number < rounds) begin(number);
    copy_local(number, rounds + 1);
    if (number > 0) end(number - 1);
  }
  mark(rounds);  // local copies of the last turn, too
  if (!marks_.empty())
    for (size_t number = rounds + 1 - marks_.size(); number <= rounds; ++number) wait_for(number);
  if (settings_.agree) wire_.rounds_are_over();
}

void RoundsRun::give_up() noexcept {
  if (wire_.give_up()) return;
  for (Flight& one : flights_)
    for (Buffer& buffer : one.buffers) buffer.packed.let_go(), buffer.host.let_go();
}

}  // namespace infini
