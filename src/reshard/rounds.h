// The exchange over transports that have rounds: round n carries the n-th piece of every lane, to and from all peers at once.
//
// Two rounds are under way: one is packed while the one before it flies. On a device all of it has its place in the order of one
// stream, and the host only looks how far it has come. Round n of two ranks with one another needs nothing but the rounds before
// it on both, so nobody waits for ever.
#pragma once

#include <vector>

#include "reshard/prepared.h"
#include "reshard/run.h"
#include "reshard/staging.h"
#include "reshard/wire/wire.h"

namespace infini {

class RoundsRun {
 public:
  // `prepared` stays where it is. on_wire: the transport reads and writes the device's memory itself.
  RoundsRun(Device& device, const PreparedReshard& prepared, char* dst, const char* src, Wire& wire,
            const ReshardSettings& settings, bool on_wire);
  ~RoundsRun();
  RoundsRun(const RoundsRun&) = delete;

  void go();
  // After a failure. What the transport may still use is never freed.
  void give_up() noexcept;

 private:
  struct Buffer {  // of one lane
    Block packed, host;
  };
  struct Flight {
    Wire::Round round;
    std::vector<Buffer> buffers;  // of the lanes that are sent, then of those that are received
  };

  Buffer make_buffer(const Lane& lane);
  void begin(size_t number);
  void end(size_t number);
  const char* pack(const Piece& piece, const Buffer& buffer);
  char* landing(const Piece& piece, const Buffer& buffer) const;
  void unpack(const Piece& piece, const Buffer& buffer);
  void copy_local(size_t turn, size_t turns);
  void mark(size_t number);
  void wait_for(size_t number);
  Flight& flight(size_t number) { return flights_[number % 2]; }
  const Piece* piece_of(const Lane& lane, size_t number) const {
    return number < lane.pieces.size() ? &lane.pieces[number] : nullptr;
  }

  Place& place_;
  const PreparedReshard& prepared_;
  char* const dst_;
  const char* const src_;
  Wire& wire_;
  const ReshardSettings& settings_;
  const bool on_device_, on_wire_;
  void* const stream_;
  size_t next_local_ = 0;
  Flight flights_[2];
  std::vector<void*> marks_;  // of the last rounds, by number: how far the stream has come
};

}  // namespace infini
