// Memory between shards and the wire: for each piece in flight one block where the device packs, and page-locked host memory
// where the transport cannot reach the device.
#pragma once

#include "plan/reshard/reshard_plan.h"
#include "reshard/prepared.h"
#include "runtime/place.h"

namespace infini {

// Of a memory pool; given back when it goes, unless it was let go.
class Block {
 public:
  Block() = default;
  Block(MemoryPool& pool, size_t bytes, void* stream = nullptr)
      : pool_(&pool), p_(pool.allocate(bytes, stream)), bytes_(bytes), stream_(stream) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(p_, other.p_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Block() {
    if (p_ != nullptr) pool_->free(p_, bytes_, stream_, false);
  }

  char* get() const { return static_cast<char*>(p_); }
  void let_go() { p_ = nullptr; }

 private:
  MemoryPool* pool_ = nullptr;
  void* p_ = nullptr;
  size_t bytes_ = 0;
  void* stream_ = nullptr;  // in whose order it is used
};

// Two pieces of a lane are in flight at once, each by a slot.
struct Slot {
  Block packed, host;
  bool busy = false;
};

class Staging {
 public:
  // Waits for what the client has put on the default stream where the transport reads and writes shards by itself.
  Staging(Device& device, bool wire_takes_device_memory);

  // Of a lane, for one of its slots.
  int64_t bytes_needed(const Lane& lane) const {
    return (packs(lane) ? lane.longest_piece : 0) + (through_host_ ? lane.longest_piece : 0);
  }
  Slot make_slot(const Lane& lane) { return make_slot(lane.longest_piece, packs(lane)); }
  Slot make_slot(const Piece& piece) { return make_slot(piece.bytes, !piece.direct); }
  Slot make_slot(int64_t bytes, bool packs = true);

  // Where the transport is to read a piece, which lies there when this returns.
  const void* pack(const Piece& piece, const Slot& slot, const char* shard) const;
  // The same place, of a piece that was packed before.
  const void* where(const Piece& piece, const Slot& slot, const char* shard) const {
    if (through_host_) return slot.host.get();
    return piece.direct ? shard + piece.shard_offset : slot.packed.get();
  }
  // Where it is to write one, and what is to be done when it has.
  void* landing(const Piece& piece, const Slot& slot, char* shard) const;
  void unpack(const Piece& piece, const Slot& slot, char* shard) const;
  // A piece between the shard and host memory that is neither's; done when it returns.
  void pack_to(char* host, const Piece& piece, const char* shard) const;
  void unpack_from(const char* host, const Piece& piece, char* shard) const;
  void finish() const;  // all that was unpacked is in its place

 private:
  static bool packs(const Lane& lane);

  Place& place_;
  bool on_host_, through_host_;
};

}  // namespace infini
