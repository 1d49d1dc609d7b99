// infinicore/common/hash.hpp: one number of many values, for the keys of clients' own caches. Tensors count by their
// dtype, shape and strides; what they hold does not matter.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>

#include "../tensor.hpp"

namespace infinicore {
namespace detail {

inline void mix_hash(std::size_t& seed, std::size_t word) {
  seed = (seed ^ word) * std::size_t{0xff51afd7ed558ccd};
  seed ^= seed >> 32;
}
template <class T>
std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>> hash_value(std::size_t& seed,
                                                                          const T& value) {
  mix_hash(seed, std::hash<T>{}(value));
}
inline void hash_value(std::size_t& seed, const std::string& text) {
  mix_hash(seed, std::hash<std::string>{}(text));
}
inline void hash_value(std::size_t& seed, const Tensor& tensor) {
  if (!tensor) return mix_hash(seed, 0);
  hash_value(seed, tensor->dtype());
  mix_hash(seed, tensor->ndim());
  for (const Size extent : tensor->shape()) mix_hash(seed, extent);
  for (const Stride stride : tensor->strides()) mix_hash(seed, static_cast<std::size_t>(stride));
}

}  // namespace detail

// Mixes the values into the seed.
template <class... Values>
void hash_combine(std::size_t& seed, const Values&... values) {
  (detail::hash_value(seed, values), ...);
}
template <class... Values>
std::size_t hash_combine(const Values&... values) {
  std::size_t seed = 0;
  (detail::hash_value(seed, values), ...);
  return seed;
}

}  // namespace infinicore
