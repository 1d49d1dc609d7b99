// Taking turns with upload memory.
#include "backends/gpu/pages/uploads.h"

#include <algorithm>

namespace infini::gpu {
namespace {

constexpr size_t most_waiting = 8;  // slots beyond which a run waits for an older one

}  // namespace

bool is_captured(Stream stream) {
  bool captured = false;
  if (stream != nullptr)
    check(stream_is_capturing(stream, &captured), "cannot ask whether stream ", stream,
          " is captured");
  return captured;
}

Uploads::~Uploads() {
  for (const auto& slot : slots_) release(*slot);
}

void Uploads::release(Slot& slot) noexcept {
  if (slot.event != nullptr) {
    surely([&] { return event_synchronize(slot.event); });
    surely([&] { return event_destroy(slot.event); });
  }
  if (slot.device != nullptr) surely([&] { return gpu::free(slot.device); });
  if (slot.host != nullptr) surely([&] { return free_host(slot.host); });
  slot = Slot{nullptr, nullptr, 0, nullptr, slot.taken};
}

// A slot whose last work is done, the smallest that is large enough before others.
Uploads::Slot* Uploads::find_idle(size_t bytes) {
  Slot* found = nullptr;
  for (const auto& slot : slots_) {
    if (slot->taken) continue;
    if (slot->event != nullptr) {
      const Status status = event_query(slot->event);
      if (status == not_ready) {
        take_last_error();
        continue;
      }
      check(status, "cannot ask for an earlier upload");
    }
    if (found == nullptr || (slot->bytes >= bytes && slot->bytes < found->bytes) ||
        (found->bytes < bytes && slot->bytes > found->bytes))
      found = slot.get();
  }
  return found;
}

Uploads::Slot& Uploads::take(size_t bytes) {
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(mutex_);
    slot = find_idle(bytes);
    if (slot == nullptr && slots_.size() >= most_waiting) {
      const auto oldest =
          std::find_if(slots_.begin(), slots_.end(), [](const auto& each) { return !each->taken; });
      if (oldest != slots_.end()) {
        slot = oldest->get();
        std::rotate(oldest, oldest + 1, slots_.end());
        check(event_synchronize(slot->event), "cannot wait for an earlier upload");
      }
    }
    if (slot == nullptr) slot = slots_.emplace_back(std::make_unique<Slot>()).get();
    slot->taken = true;
  }
  try {
    fit(*slot, bytes);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    slot->taken = false;
    throw;
  }
  return *slot;
}

void Uploads::fit(Slot& slot, size_t bytes) {
  if (slot.bytes >= bytes) return;
  release(slot);
  size_t room = 4096;
  while (room < bytes) room *= 2;
  check(event_create(&slot.event, event_disable_timing), "cannot create an event for uploads");
  check(allocate_host(&slot.host, room), "cannot allocate ", room, " bytes of pinned memory");
  check(gpu::allocate(&slot.device, room), "cannot allocate ", room, " bytes for a table");
  slot.bytes = room;
}

void Uploads::give_back(Slot& slot, Stream stream) noexcept {
  // What cannot be marked is waited for: its memory must not change under a copy in flight.
  if (event_record(slot.event, stream) != success) {
    take_last_error();
    surely([&] { return stream_synchronize(stream); });
  }
  const std::lock_guard lock(mutex_);
  slot.taken = false;
}

}  // namespace infini::gpu
