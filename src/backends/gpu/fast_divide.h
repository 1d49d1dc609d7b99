// Division of small unsigned numbers by a number known beforehand: one multiplication and a shift.
//
// Seen by device compilers: C++17, and constexpr so that host and device share the code.
#pragma once

#include <cstdint>

namespace infini::gpu {

struct FastDivisor {
  uint32_t divisor = 1, magic = 1u << 31, shift = 31;
};

// Precondition: 1 <= divisor < 2^31.
constexpr FastDivisor make_fast_divisor(uint32_t divisor) {
  uint32_t bits = 0;  // the smallest with 2^bits >= divisor
  while ((uint64_t{1} << bits) < divisor) ++bits;
  const uint64_t power = uint64_t{1} << (31 + bits);
  return {divisor, static_cast<uint32_t>((power + divisor - 1) / divisor), 31 + bits};
}

// Law: divide(n, make_fast_divisor(d)) == n / d for every n < 2^31. The magic number exceeds
// 2^shift / d by less than 1, so the quotient by less than 2^31 / 2^shift <= 1 / d.
constexpr uint32_t divide(uint32_t n, const FastDivisor& by) {
  return static_cast<uint32_t>((uint64_t{n} * by.magic) >> by.shift);
}

// Takes the lowest digit of a mixed-radix number off it.
constexpr uint32_t take_digit(uint32_t& n, const FastDivisor& radix) {
  const uint32_t rest = divide(n, radix);
  const uint32_t digit = n - rest * radix.divisor;
  n = rest;
  return digit;
}

}  // namespace infini::gpu
