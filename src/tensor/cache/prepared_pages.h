// A paged copy that was prepared, with the pattern it was prepared for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "infinicore/pattern.hpp"
#include "ops/rearrange_paged.h"

namespace infinicore::detail {

// The pattern's part of a problem: the operator cache compares layouts, and of this a hash alone.
class PagesPattern {
 public:
  PagesPattern(std::string_view text, AxisSizes sizes) : text_(text) {
    for (const AxisSize& given : sizes) sizes_.emplace_back(given.name, given.size);
  }
  bool is(std::string_view text, AxisSizes sizes) const {
    if (text != text_ || sizes.size() != sizes_.size()) return false;
    auto known = sizes_.begin();
    for (const AxisSize& given : sizes) {
      if (known->first != given.name || known->second != given.size) return false;
      ++known;
    }
    return true;
  }
  static size_t hash_of(std::string_view text, AxisSizes sizes) {
    size_t hash = std::hash<std::string_view>()(text);
    for (const AxisSize& given : sizes)
      hash = hash * 31 + std::hash<std::string_view>()(given.name) + given.size;
    return hash;
  }

 private:
  std::string text_;
  std::vector<std::pair<std::string, Size>> sizes_;
};

struct PreparedPages {
  PagesPattern pattern;
  infini::RearrangePaged copy;
};

}  // namespace infinicore::detail
