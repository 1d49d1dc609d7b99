// The bytes that the fuzzer gives, read as choices. Past their end everything is 0, so that every input means something
// and shorter ones mean simpler things.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  uint8_t byte() { return left_ == 0 ? uint8_t{0} : (--left_, *data_++); }
  // 0 .. count - 1, from one byte.
  int below(int count) { return byte() % count; }
  // True for one byte value in n; never for 0, which stands for what is usual.
  bool one_in(int n) { return byte() % n == n - 1; }
  int64_t number(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(byte()) << (8 * i);
    const int unused = 64 - 8 * bytes;
    return static_cast<int64_t>(value << unused) >> unused;  // keeps the sign
  }
  // Any of 64 bits: small, around a power of two, or the ends of the range.
  int64_t extreme() {
    const int kind = byte();
    if (kind < 96) return kind - 48;
    if (kind < 224) return static_cast<int64_t>((uint64_t{1} << (kind % 64)) + byte() % 5 - 2);
    return kind < 240 ? INT64_MIN + kind % 4 : kind < 248 ? INT64_MAX - kind % 4 : number(8);
  }
  template <class T, size_t n>
  T one_of(const T (&values)[n]) {
    return values[static_cast<size_t>(below(static_cast<int>(n)))];
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace infini::fuzz
