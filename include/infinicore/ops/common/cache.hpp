// infinicore/ops/common/cache.hpp: a cache for each device, for clients' own operators.
#pragma once

#include <map>
#include <utility>

#include "../../common/LRUCache.hpp"
#include "../../context/context.hpp"

namespace infinicore::op::common {

// Values are destroyed with their device current. Not for several threads at once: make it thread_local.
template <class Key, class Value>
class OpCache {
 public:
  using BaseCache = infinicore::common::LRUCache<Key, Value>;
  using Destructor = typename BaseCache::Destructor;

  // Of each device's cache.
  explicit OpCache(std::size_t capacity = 100, Destructor destructor = {})
      : capacity_(capacity), destructor_(std::move(destructor)) {}
  ~OpCache() { clear(); }
  OpCache(const OpCache&) = delete;
  OpCache& operator=(const OpCache&) = delete;

  // The cache of this device, made when it is first asked for.
  BaseCache& getCache(Device::Type type, std::size_t index) {
    return caches_.try_emplace({type, index}, capacity_, destructor_).first->second;
  }
  // The same.
  BaseCache& getCache(const Device& device) {
    return getCache(device.getType(), device.getIndex());
  }
  // Of each device's cache, also of those that are there.
  void setCapacity(std::size_t capacity) {
    capacity_ = capacity;
    for (auto& [device, cache] : caches_) cache.setCapacity(capacity);
  }
  // Destroys all values.
  void clear() {
    if (caches_.empty()) return;
    const Device before = context::getDevice();
    for (auto& [device, cache] : caches_) {
      if (cache.size() == 0) continue;
      context::setDevice(Device(device.first, device.second));
      cache.clear();
    }
    context::setDevice(before);
  }

 private:
  std::size_t capacity_;
  Destructor destructor_;
  std::map<std::pair<Device::Type, std::size_t>, BaseCache> caches_;
};

}  // namespace infinicore::op::common
