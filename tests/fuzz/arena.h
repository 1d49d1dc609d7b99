// Memory for tensors that ends at pages nobody may touch, with poisoned bytes right around what a tensor spans.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/layout/layout.h"
#include "tests/fuzz/input.h"

namespace infini::fuzz {

// Where a tensor's bytes lie in an arena: from its first or up to its last page, so many bytes away from that end.
struct Place {
  bool at_end = false;
  int64_t distance = 0;
};
// Mostly directly at one of the ends; else up to 127 bytes away, in steps of `unit`.
Place choose_place(Input& in, int64_t unit);

class Arena {
 public:
  explicit Arena(int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int64_t capacity() const { return bytes_ - 2 * margin; }
  // Lays `range` out, fills it and what is around it, and returns the tensor's base. What lies outside is poisoned.
  char* put(const ByteRange& range, const Place& place, uint64_t seed);
  char* first() const { return low_; }
  int64_t size() const { return high_ - low_; }
  // Ends the poisoning: from here on the bytes around may be compared.
  void open();
  // The bytes within [first, first + size) are expected; those around must be as put() left them.
  // Returns the place of the first difference relative to first(), or INT64_MIN.
  int64_t difference(const char* expected) const;
  static constexpr int64_t none = INT64_MIN;

 private:
  static constexpr int64_t margin = 256;  // bytes on both sides that are poisoned and compared
  const char* pattern(const char* place) const;  // what put() wrote there

  char* mapping_ = nullptr;
  char* memory_ = nullptr;
  int64_t bytes_ = 0;
  char *low_ = nullptr, *high_ = nullptr;   // of the tensor; low_ <= high_
  uint64_t shift_ = 0;                      // where in the table of random bytes the filling starts
  char *begin_ = nullptr, *end_ = nullptr;  // with the margins; poisoned outside of [low_, high_)
};

}  // namespace infini::fuzz
