// What emulators of lazy streams share: which bytes operations touch, what each knows to have happened
// before it, and where memory is found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace emulators {

using Address = uint64_t;  // on the device; never a pointer that the host could follow

struct Range {
  Address begin, end;
};

// Sorts, and joins neighbours.
inline void merge(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const Range range : ranges) {
    if (kept > 0 && range.begin <= ranges[kept - 1].end)
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

// Whether merged ranges share a byte.
inline bool overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].begin < b[j].end && b[j].begin < a[i].end) return true;
    if (a[i].end <= b[j].end)
      ++i;
    else
      ++j;
  }
  return false;
}

// What an operation knows to have happened: for each stream the number of its last operation.
class Clock {
 public:
  uint64_t at(size_t slot) const { return slot < seen_.size() ? seen_[slot] : 0; }
  void set(size_t slot, uint64_t number) {
    if (slot >= seen_.size()) seen_.resize(slot + 1, 0);
    seen_[slot] = number;
  }
  void join(const Clock& other) {
    for (size_t i = 0; i < other.seen_.size(); ++i)
      if (other.seen_[i] > at(i)) set(i, other.seen_[i]);
  }

 private:
  std::vector<uint64_t> seen_;
};

constexpr uint64_t red_zone = 512;  // between allocations
constexpr uint64_t alignment = 256;

inline uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// First fit in [from, end) among allocations by their begin: addresses are reused as late as possible,
// so that stale ones show. 0: no room.
template <class Allocations>
Address find_gap(const Allocations& allocations, Address from, Address end, uint64_t size) {
  Address candidate = round_up(from, alignment);
  auto next = allocations.lower_bound(from);
  if (next != allocations.begin()) {
    const auto& before = std::prev(next)->second;
    candidate = std::max(candidate, round_up(before.begin + before.size + red_zone, alignment));
  }
  for (; candidate + size <= end; ++next) {
    if (next == allocations.end() || candidate + size + red_zone <= next->first) return candidate;
    candidate = round_up(next->second.begin + next->second.size + red_zone, alignment);
  }
  return 0;
}

}  // namespace emulators
