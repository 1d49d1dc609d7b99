// infinicore::context: the memory pools and the operator cache, seen and set.
#include "infinicore/context/context.hpp"
#include "tensor/access.h"
#include "tensor/edge.h"
#include "tensor/thread_state.h"

namespace infinicore::context {

MemoryStats memoryStats(const Device& device) {
  return detail::at_edge([&]() -> MemoryStats {
    const infini::PoolStats stats = detail::place_of(device).memory.stats();
    return {
        stats.in_use_bytes, stats.cached_bytes, stats.peak_in_use_bytes, stats.peak_reserved_bytes,
        stats.allocations,  stats.reuses,       stats.releases};
  });
}

MemoryLimits memoryLimits(const Device& device) {
  const infini::PoolLimits limits = detail::place_of(device).memory.limits();
  return {limits.max_reserved_bytes, limits.max_cached_bytes};
}

void setMemoryLimits(const Device& device, const MemoryLimits& limits) {
  return detail::at_edge([&] {
    detail::place_of(device).memory.set_limits(
        {limits.max_reserved_bytes, limits.max_cached_bytes});
  });
}

std::size_t trimMemory(const Device& device) {
  return detail::at_edge([&] {
    infini::Place& place = detail::place_of(device);
    return place.memory.trim() + place.pinned.trim();
  });
}

std::size_t trimMemory() {
  return detail::at_edge([&] {
    std::size_t bytes = 0;
    for (infini::Place* place : infini::all_places())
      bytes += place->memory.trim() + place->pinned.trim();
    return bytes;
  });
}

OpCacheStats opCacheStats() {
  return detail::at_edge([&] {
    const detail::ThreadState& thread = detail::this_thread();
    OpCacheStats sum = thread.rearranges.stats();
    const auto add = [&](const OpCacheStats& own) {
      sum.hits += own.hits;
      sum.misses += own.misses;
      sum.evictions += own.evictions;
      sum.entries += own.entries;
    };
    add(thread.gemms.stats());
    add(thread.pages.stats());
    for (const auto& cache : thread.operators) add(cache.stats());
    return sum;
  });
}

void setOpCacheCapacity(std::size_t capacity) { detail::set_op_cache_capacity(capacity); }

std::size_t opCacheCapacity() { return detail::op_cache_capacity(); }

void clearOpCache() {
  detail::this_thread().rearranges.clear();
  detail::this_thread().gemms.clear();
  detail::this_thread().pages.clear();
  for (auto& cache : detail::this_thread().operators) cache.clear();
  detail::this_thread().patterns.clear();
}

}  // namespace infinicore::context
