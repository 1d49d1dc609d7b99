// The cache of patterns: per thread, what a pattern meant for a layout and the copy that was prepared for it.
//
// The key is the whole problem (place, text, given sizes, x's dtype, shape and strides) and is compared in full.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "infinicore/pattern.hpp"
#include "ops/rearrange.h"
#include "plan/pattern/pattern.h"
#include "tensor/cache/op_cache.h"

namespace infinicore::detail {

struct PatternCall {  // lives as long as a call
  infini::Place& place;
  const TensorImpl& x;
  std::string_view text;
  AxisSizes sizes;
};

struct PatternCopy {
  Shape shape;  // of the result
  infini::PatternWalk walk;
  std::shared_ptr<const infini::Rearrange> prepared;  // into a contiguous result
};

class PatternCache {
 public:
  template <class Make>
  std::shared_ptr<const PatternCopy> get(const PatternCall& call, Make&& make) {
    if (slots_.empty()) slots_.resize(slot_count);
    const size_t hash = hash_of(call);
    Slot& slot = slots_[hash % slot_count];
    if (slot.copy && slot.hash == hash && slot.matches(call)) return slot.copy;
    auto copy = std::make_shared<const PatternCopy>(make());
    if (op_cache_capacity() > 0) slot = Slot(call, hash, copy);
    return copy;
  }
  void clear() { slots_.clear(); }

 private:
  static constexpr size_t slot_count = 128;
  struct Slot {
    Slot() = default;
    Slot(const PatternCall& call, size_t hash, std::shared_ptr<const PatternCopy> made);
    bool matches(const PatternCall& call) const;

    size_t hash = 0;
    infini::Place* place = nullptr;
    std::string text;
    std::vector<std::pair<std::string, Size>> sizes;
    DataType dtype{};
    Shape x_shape;
    Strides x_strides;
    std::shared_ptr<const PatternCopy> copy;
  };
  static size_t hash_of(const PatternCall& call);

  std::vector<Slot> slots_;  // none before the first pattern
};

}  // namespace infinicore::detail
