// infinicore/common/LRUCache.hpp: the values that were used last, by key, for clients' own operators.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace infinicore::common {

// Keys are compared, not only their hashes. Not for several threads at once.
template <class Key, class Value>
class LRUCache {
 public:
  using Destructor = std::function<void(Value&)>;

  // The destructor is called for every value that leaves.
  explicit LRUCache(std::size_t capacity = 100, Destructor destructor = {})
      : capacity_(capacity), destructor_(std::move(destructor)) {}
  ~LRUCache() { clear(); }
  LRUCache(const LRUCache&) = delete;
  LRUCache& operator=(const LRUCache&) = delete;
  // The other one is empty then.
  LRUCache(LRUCache&& other) noexcept
      : capacity_(other.capacity_),
        destructor_(other.destructor_),
        entries_(std::move(other.entries_)),
        index_(std::move(other.index_)) {
    other.entries_.clear();
    other.index_.clear();
  }

  // Whether there is a value of this key; it does not count as used.
  bool exists(const Key& key) const { return index_.count(key) != 0; }
  // How many values there are.
  std::size_t size() const { return entries_.size(); }
  // An older value of this key is destroyed.
  void put(const Key& key, const Value& value) {
    if (const auto found = index_.find(key); found != index_.end()) drop(found->second);
    if (capacity_ == 0) return;
    shrink(capacity_ - 1);
    entries_.emplace_front(key, value);
    index_[key] = entries_.begin();
  }
  std::optional<Value> get(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }
  void setCapacity(std::size_t capacity) {
    capacity_ = capacity;
    shrink(capacity);
  }
  void setDestructor(Destructor destructor) { destructor_ = std::move(destructor); }
  void clear() { shrink(0); }

 private:
  using Entries = std::list<std::pair<Key, Value>>;  // used last in front

  void drop(typename Entries::iterator entry) {
    if (destructor_) destructor_(entry->second);
    index_.erase(entry->first);
    entries_.erase(entry);
  }
  void shrink(std::size_t capacity) {
    while (entries_.size() > capacity) drop(std::prev(entries_.end()));
  }

  std::size_t capacity_;
  Destructor destructor_;
  Entries entries_;
  std::unordered_map<Key, typename Entries::iterator> index_;
};

}  // namespace infinicore::common
