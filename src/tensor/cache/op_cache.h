// The cache of prepared operators: per thread, operator and device, the ones used last.
//
// The key is the whole problem (place, options, every operand's dtype, shape and strides) and is
// compared in full; its hash only says where to look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "infinicore/context/context.hpp"
#include "plan/operators/functions.h"
#include "tensor/access.h"

namespace infinicore::detail {

// What an operator is to be prepared for; lives as long as a call.
struct Problem {
  Problem(infini::Place& place, uint64_t options, std::initializer_list<const TensorImpl*> tensors)
      : Problem(place, options, tensors.begin(), tensors.size()) {}
  Problem(infini::Place& place, uint64_t options, const TensorImpl* const* tensors, size_t count);

  infini::Place* place;
  uint64_t options;
  const TensorImpl* operands[infini::max_operands];
  int count;
  uint64_t hash;
};

// A problem's content, to keep.
class ProblemKey {
 public:
  explicit ProblemKey(const Problem& problem);
  bool matches(const Problem& problem) const;
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_, options_;
  std::vector<int64_t> words_;  // per operand: dtype, rank, shape, strides
};

size_t op_cache_capacity();
void set_op_cache_capacity(size_t capacity);

template <class Operator>
class OpCache {
 public:
  using Prepared = std::shared_ptr<const Operator>;

  // The operator for this problem; make() prepares it when it is not here.
  template <class Make>
  Prepared get(const Problem& problem, Make&& make) {
    Shelf& shelf = shelf_of(problem.place);
    const size_t capacity = op_cache_capacity();
    shrink(shelf, capacity);
    if (const Entry* entry = find(shelf, problem)) {
      ++stats_.hits;
      return entry->prepared;
    }
    ++stats_.misses;
    Prepared prepared = make();
    if (capacity > 0) {
      shrink(shelf, capacity - 1);
      insert(shelf, problem, prepared);
    }
    return prepared;
  }

  context::OpCacheStats stats() const {
    context::OpCacheStats stats = stats_;
    for (const auto& shelf : shelves_) stats.entries += shelf->entries.size();
    return stats;
  }
  void clear() {
    shelves_.clear();
    stats_ = {};
  }

 private:
  struct Entry {
    ProblemKey key;
    Prepared prepared;
  };
  using Entries = std::list<Entry>;
  struct Shelf {  // one device's
    const infini::Place* place;
    Entries entries;  // used last in front
    std::unordered_multimap<uint64_t, typename Entries::iterator> index;
  };

  Shelf& shelf_of(const infini::Place* place) {
    for (const auto& shelf : shelves_)
      if (shelf->place == place) return *shelf;
    shelves_.push_back(std::make_unique<Shelf>(Shelf{place, {}, {}}));
    return *shelves_.back();
  }

  const Entry* find(Shelf& shelf, const Problem& problem) {
    if (!shelf.entries.empty() && shelf.entries.front().key.matches(problem))
      return &shelf.entries.front();
    const auto [begin, end] = shelf.index.equal_range(problem.hash);
    for (auto at = begin; at != end; ++at) {
      if (!at->second->key.matches(problem)) continue;
      shelf.entries.splice(shelf.entries.begin(), shelf.entries, at->second);
      return &*at->second;
    }
    return nullptr;
  }

  void insert(Shelf& shelf, const Problem& problem, const Prepared& prepared) {
    shelf.entries.push_front({ProblemKey(problem), prepared});
    try {
      shelf.index.emplace(problem.hash, shelf.entries.begin());
    } catch (...) {
      shelf.entries.pop_front();
      throw;
    }
  }

  void shrink(Shelf& shelf, size_t capacity) {
    while (shelf.entries.size() > capacity) {
      const auto last = std::prev(shelf.entries.end());
      auto at = shelf.index.equal_range(last->key.hash()).first;
      while (at->second != last) ++at;
      shelf.index.erase(at);
      shelf.entries.pop_back();
      ++stats_.evictions;
    }
  }

  std::vector<std::unique_ptr<Shelf>> shelves_;
  context::OpCacheStats stats_;
};

}  // namespace infinicore::detail
