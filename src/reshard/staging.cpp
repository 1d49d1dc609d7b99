// Packing and unpacking pieces.
#include "reshard/staging.h"

#include <algorithm>

namespace infini {

Staging::Staging(Device& device, bool wire_takes_device_memory)
    : place_(place_of(device.kind(), device.id())),
      on_host_(device.kind() == INFINI_DEVICE_CPU),
      through_host_(!on_host_ && !wire_takes_device_memory) {
  if (!through_host_) finish();
}

bool Staging::packs(const Lane& lane) {
  return std::any_of(lane.pieces.begin(), lane.pieces.end(),
                     [](const Piece& piece) { return !piece.direct; });
}

Slot Staging::make_slot(int64_t bytes, bool packs) {
  Slot slot;
  place_.device.make_current();
  if (packs) slot.packed = Block(place_.memory, static_cast<size_t>(bytes));
  if (through_host_) slot.host = Block(place_.pinned, static_cast<size_t>(bytes));
  return slot;
}

const void* Staging::pack(const Piece& piece, const Slot& slot, const char* shard) const {
  const char* from = piece.direct ? shard + piece.shard_offset : slot.packed.get();
  for (const PieceCopy& copy : piece.copies) copy.run(slot.packed.get(), shard, nullptr);
  if (on_host_ || (piece.direct && !through_host_)) return from;
  place_.device.make_current();
  if (through_host_) {
    place_.device.copy_async(slot.host.get(), from, static_cast<size_t>(piece.bytes),
                             INFINIRT_MEMCPY_D2H, nullptr);
    from = slot.host.get();
  }
  place_.device.synchronize_stream(nullptr);
  return from;
}

void* Staging::landing(const Piece& piece, const Slot& slot, char* shard) const {
  if (through_host_) return slot.host.get();
  return piece.direct ? shard + piece.shard_offset : slot.packed.get();
}

void Staging::unpack(const Piece& piece, const Slot& slot, char* shard) const {
  if (through_host_) {
    place_.device.make_current();
    place_.device.copy_async(piece.direct ? shard + piece.shard_offset : slot.packed.get(),
                             slot.host.get(), static_cast<size_t>(piece.bytes), INFINIRT_MEMCPY_H2D,
                             nullptr);
  }
  for (const PieceCopy& copy : piece.copies) copy.run(shard, slot.packed.get(), nullptr);
  if (!on_host_) place_.device.synchronize_stream(nullptr);  // the slot's memory is used again
}

void Staging::pack_to(char* host, const Piece& piece, const char* shard) const {
  for (const PieceCopy& copy : piece.copies) copy.run(host, shard, nullptr);
}

void Staging::unpack_from(const char* host, const Piece& piece, char* shard) const {
  for (const PieceCopy& copy : piece.copies) copy.run(shard, host, nullptr);
}

void Staging::finish() const {
  if (on_host_) return;
  place_.device.make_current();
  place_.device.synchronize_stream(nullptr);
}

}  // namespace infini
