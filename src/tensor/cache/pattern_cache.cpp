// The cache of patterns.
#include "tensor/cache/pattern_cache.h"

#include <algorithm>

namespace infinicore::detail {

PatternCache::Slot::Slot(const PatternCall& call, size_t hash,
                         std::shared_ptr<const PatternCopy> made)
    : hash(hash),
      place(&call.place),
      text(call.text),
      dtype(call.x.dtype()),
      x_shape(call.x.shape()),
      x_strides(call.x.strides()),
      copy(std::move(made)) {
  for (const AxisSize& given : call.sizes) sizes.emplace_back(given.name, given.size);
}

bool PatternCache::Slot::matches(const PatternCall& call) const {
  return place == &call.place && dtype == call.x.dtype() && x_shape == call.x.shape() &&
         x_strides == call.x.strides() && text == call.text &&
         std::equal(sizes.begin(), sizes.end(), call.sizes.begin(), call.sizes.end(),
                    [](const auto& a, const AxisSize& b) {
                      return a.first == b.name && a.second == b.size;
                    });
}

size_t PatternCache::hash_of(const PatternCall& call) {
  size_t hash = TensorAccess::layout_hash(call.x) ^ std::hash<std::string_view>()(call.text);
  for (const AxisSize& given : call.sizes) hash = hash * 0x9e3779b97f4a7c15u + given.size;
  return hash ^ hash >> 32;
}

}  // namespace infinicore::detail
