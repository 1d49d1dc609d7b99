// The table of places.
#include "runtime/place.h"

#include <map>
#include <memory>

#include "base/threads/lazy.h"
#include "base/threads/mutex.h"
#include "runtime/registry.h"

namespace infini {
namespace {

struct Table {
  Mutex mutex;
  std::map<const Device*, std::unique_ptr<Place>> places;
};

Table& table() {
  static constinit Lazy<Table> all;
  return all.get();
}

// Host memory that lies idle is missed by other programs; a device's mostly belongs to us.
PoolLimits default_limits(const Device& device) {
  PoolLimits limits;
  if (device.kind() == INFINI_DEVICE_CPU) limits.max_cached_bytes = size_t{1} << 30;
  return limits;
}

}  // namespace

Place::Place(Device& d)
    : device(d),
      memory(d, MemoryPool::Kind::device, default_limits(d)),
      pinned(d, MemoryPool::Kind::pinned_host, {SIZE_MAX, size_t{1} << 30}) {}

Place& place_of(infiniDevice_t kind, int id) {
  static constinit thread_local Place* last =
      nullptr;  // places live for ever, and most threads use one
  if (last && last->device.kind() == kind && last->device.id() == id) return *last;
  Device& device = open_device(kind, id);
  Table& all = table();
  std::lock_guard lock(all.mutex);
  auto& place = all.places[&device];
  if (!place) place = std::make_unique<Place>(device);
  return *(last = place.get());
}

std::vector<Place*> all_places() {
  Table& all = table();
  std::lock_guard lock(all.mutex);
  std::vector<Place*> places;
  for (auto& [device, place] : all.places) places.push_back(place.get());
  return places;
}

}  // namespace infini
