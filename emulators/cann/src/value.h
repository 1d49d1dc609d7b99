// Elements of every number type: integers exactly, floats as doubles, rounded once when they are stored.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "number.h"

namespace cann_emulator {

struct Value {
  bool whole = false;  // an integer or bool
  int64_t integer = 0;
  bool natural = false;  // of an integer: without sign
  double number = 0;

  double real() const {
    if (!whole) return number;
    return natural ? static_cast<double>(static_cast<uint64_t>(integer))
                   : static_cast<double>(integer);
  }
};

inline bool is_whole(aclDataType dtype) {
  switch (dtype) {
    case ACL_INT8:
    case ACL_INT16:
    case ACL_INT32:
    case ACL_INT64:
    case ACL_UINT8:
    case ACL_UINT16:
    case ACL_UINT32:
    case ACL_UINT64:
    case ACL_BOOL: return true;
    default: return false;
  }
}

template <class T>
T bytes_as(const unsigned char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

inline Value load_value(const unsigned char* p, aclDataType dtype) {
  switch (dtype) {
    case ACL_INT8: return {true, bytes_as<int8_t>(p)};
    case ACL_INT16: return {true, bytes_as<int16_t>(p)};
    case ACL_INT32: return {true, bytes_as<int32_t>(p)};
    case ACL_INT64: return {true, bytes_as<int64_t>(p)};
    case ACL_UINT8: return {true, bytes_as<uint8_t>(p), true};
    case ACL_UINT16: return {true, bytes_as<uint16_t>(p), true};
    case ACL_UINT32: return {true, bytes_as<uint32_t>(p), true};
    case ACL_UINT64: return {true, bytes_as<int64_t>(p), true};
    case ACL_BOOL: return {true, bytes_as<uint8_t>(p) != 0, true};
    case ACL_DOUBLE: return {false, 0, false, bytes_as<double>(p)};
    default: return {false, 0, false, static_cast<double>(load_number(p, dtype))};
  }
}

// To nearest even, in one step: the quantum of the type at x, and a whole number of them.
inline double rounded(double x, aclDataType dtype) {
  if (dtype == ACL_DOUBLE || x == 0 || !std::isfinite(x)) return x;
  const int digits = dtype == ACL_FLOAT16 ? 11 : dtype == ACL_BF16 ? 8 : 24;
  const int least = dtype == ACL_FLOAT16 ? -14 : -126, most = dtype == ACL_FLOAT16 ? 15 : 127;
  const double quantum = std::ldexp(1.0, std::max(std::ilogb(x), least) - digits + 1);
  const double y = std::nearbyint(x / quantum) * quantum;
  return std::fabs(y) >= std::ldexp(1.0, most + 1) ? std::copysign(INFINITY, x) : y;
}

inline void store_value(unsigned char* p, const Value& v, aclDataType dtype, size_t size) {
  if (is_whole(dtype)) {                             // truncated, wrapped around
    const bool fits = std::fabs(v.number) < 0x1p63;  // else, and for NaN, the chip says nothing
    int64_t bits = v.whole ? v.integer : fits ? static_cast<int64_t>(v.number) : INT64_MIN;
    if (dtype == ACL_BOOL) bits = v.whole ? v.integer != 0 : v.number != 0;
    std::memcpy(p, &bits, size);  // little-endian
    return;
  }
  const double x = rounded(v.real(), dtype);
  if (dtype == ACL_DOUBLE)
    std::memcpy(p, &x, sizeof x);
  else
    store_number(p, static_cast<float>(x), dtype);
}

}  // namespace cann_emulator
