// Arithmetic that says when it overflows instead of wrapping.
#pragma once

#include <cstdint>

namespace infini {

// Each returns false and leaves `out` unspecified when the result does not fit into int64_t.
inline bool checked_add(int64_t a, int64_t b, int64_t& out) {
  return !__builtin_add_overflow(a, b, &out);
}
inline bool checked_mul(int64_t a, int64_t b, int64_t& out) {
  return !__builtin_mul_overflow(a, b, &out);
}

// Where a result does not fit: the nearest number that does. For estimates, and for sizes that are
// held against a limit afterwards.
inline int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return checked_add(a, b, sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}
inline int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t product = 0;
  return checked_mul(a, b, product) ? product : (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}
template <class... More>
int64_t saturating_mul(int64_t a, int64_t b, More... more) {
  return saturating_mul(saturating_mul(a, b), more...);
}

// Of an a that is not negative; right for every such a.
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
// Saturating.
inline int64_t round_up(int64_t a, int64_t unit) {
  const int64_t over = a % unit;
  return over == 0 ? a : saturating_add(a, unit - over);
}

}  // namespace infini
