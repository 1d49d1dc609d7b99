// FNV-1a over what plans are made of, so that ranks can tell whether they made the same.
#pragma once

#include "plan/reshard/distribution.h"

namespace infini {

class Hash {  // FNV-1a
 public:
  template <class Number>
  Hash& add(Number number) {
    for (int i = 0; i < 8; ++i) {
      value_ = (value_ ^ (static_cast<uint64_t>(number) >> (8 * i) & 255)) * 1099511628211u;
    }
    return *this;
  }
  template <class Number>
  Hash& add(const std::vector<Number>& numbers) {
    add(numbers.size());
    for (const Number number : numbers) add(number);
    return *this;
  }
  Hash& add(const Distribution& distribution) {
    add(distribution.shape).add(distribution.mesh).add(distribution.ranks);
    for (const Split& split : distribution.dims)
      add(static_cast<int>(split.kind)).add(split.block).add(split.sizes).add(split.axes);
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 14695981039346656037u;
};

}  // namespace infini
