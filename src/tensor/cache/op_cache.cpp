// Keys of the operator cache, and its capacity.
#include "tensor/cache/op_cache.h"

#include <algorithm>
#include <atomic>

namespace infinicore::detail {
namespace {

std::atomic<size_t> capacity{100};

}  // namespace

Problem::Problem(infini::Place& where, uint64_t chosen, const TensorImpl* const* tensors,
                 size_t number)
    : place(&where), options(chosen), count(static_cast<int>(number)), hash(chosen) {
  std::copy_n(tensors, number, operands);
  for (int i = 0; i < count; ++i)
    hash = (hash * 0x9e3779b97f4a7c15u) ^ TensorAccess::layout_hash(*operands[i]);
}

ProblemKey::ProblemKey(const Problem& problem) : hash_(problem.hash), options_(problem.options) {
  size_t size = 0;
  for (int i = 0; i < problem.count; ++i) size += 2 + 2 * problem.operands[i]->ndim();
  words_.reserve(size);
  for (int i = 0; i < problem.count; ++i) {
    const TensorImpl& tensor = *problem.operands[i];
    words_.push_back(static_cast<int64_t>(tensor.dtype()));
    words_.push_back(static_cast<int64_t>(tensor.ndim()));
    words_.insert(words_.end(), tensor.shape().begin(), tensor.shape().end());
    words_.insert(words_.end(), tensor.strides().begin(), tensor.strides().end());
  }
}

bool ProblemKey::matches(const Problem& problem) const {
  if (hash_ != problem.hash || options_ != problem.options) return false;
  const int64_t* word = words_.data();
  for (int i = 0; i < problem.count; ++i) {
    const TensorImpl& tensor = *problem.operands[i];
    const size_t rank = tensor.ndim();
    if (word[0] != static_cast<int64_t>(tensor.dtype())) return false;
    if (word[1] != static_cast<int64_t>(rank)) return false;
    for (size_t d = 0; d < rank; ++d) {
      if (word[2 + d] != static_cast<int64_t>(tensor.shape()[d])) return false;
      if (word[2 + rank + d] != tensor.strides()[d]) return false;
    }
    word += 2 + 2 * rank;
  }
  return true;
}

size_t op_cache_capacity() { return capacity.load(std::memory_order_relaxed); }

void set_op_cache_capacity(size_t value) { capacity.store(value, std::memory_order_relaxed); }

}  // namespace infinicore::detail
