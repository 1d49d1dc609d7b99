// What the C edges of reshardings and products share.
#pragma once

#include <vector>

#include "infinireshard.h"
#include "reshard/run.h"

namespace infini {

ReshardSettings settings_of(const infiniReshardOptions_t* options);

inline void give(int64_t value, size_t* out) {
  if (out != nullptr) *out = static_cast<size_t>(value);
}
inline void give_shape(const std::vector<int64_t>& shape, size_t* out) {
  if (out == nullptr) return;
  for (size_t i = 0; i < shape.size(); ++i) out[i] = static_cast<size_t>(shape[i]);
}
inline std::vector<int64_t> strides_of(const ptrdiff_t* strides, int dims) {
  return strides == nullptr ? std::vector<int64_t>()
                            : std::vector<int64_t>(strides, strides + dims);
}

}  // namespace infini
