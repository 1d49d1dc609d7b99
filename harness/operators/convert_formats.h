// The formats of Convert by their definition: codes to numbers, and numbers to the nearest code by looking at all of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "plan/operators/convert_plan.h"

namespace infini::harness {

struct FormatFacts {
  Format format;
  infiniDtype_t dtype;
  int bytes, exponent, mantissa;  // bits; 0: an integer
  bool infinities;
  double least, most;  // of integers
};
inline const FormatFacts formats[] = {
    {Format::u8, INFINI_DTYPE_U8, 1, 0, 0, false, 0, 255},
    {Format::i8, INFINI_DTYPE_I8, 1, 0, 0, false, -128, 127},
    {Format::u16, INFINI_DTYPE_U16, 2, 0, 0, false, 0, 65535},
    {Format::i16, INFINI_DTYPE_I16, 2, 0, 0, false, -32768, 32767},
    {Format::e4m3, INFINI_DTYPE_F8, 1, 4, 3, false, 0, 0},
    {Format::e5m2, INFINI_DTYPE_F8, 1, 5, 2, true, 0, 0},
    {Format::f16, INFINI_DTYPE_F16, 2, 5, 10, true, 0, 0},
    {Format::bf16, INFINI_DTYPE_BF16, 2, 8, 7, true, 0, 0},
    {Format::f32, INFINI_DTYPE_F32, 4, 8, 23, true, 0, 0},
    {Format::i32, INFINI_DTYPE_I32, 4, 0, 0, false, -2147483648.0, 2147483647.0},
    {Format::u32, INFINI_DTYPE_U32, 4, 0, 0, false, 0, 4294967295.0},
    {Format::f64, INFINI_DTYPE_F64, 8, 11, 52, true, 0, 0},
};

inline uint64_t load_code(const void* p, int bytes) {
  uint64_t code = 0;
  std::memcpy(&code, p, static_cast<size_t>(bytes));
  return code;
}

// The number that a code stands for.
inline double number_of(const FormatFacts& f, uint64_t code) {
  if (f.exponent == 0) {
    const int unused = 64 - 8 * f.bytes;
    return f.least < 0 ? static_cast<double>(static_cast<int64_t>(code << unused) >> unused)
                       : static_cast<double>(code);
  }
  if (f.format == Format::f64) return std::bit_cast<double>(code);
  const uint64_t sign = code >> (f.exponent + f.mantissa), top = (1u << f.exponent) - 1;
  const uint64_t e = (code >> f.mantissa) & top, m = code & ((uint64_t{1} << f.mantissa) - 1);
  const int bias = (1 << (f.exponent - 1)) - 1;
  double value;
  if (f.infinities && e == top)
    value = m == 0 ? INFINITY : NAN;
  else if (!f.infinities && e == top && m == (uint64_t{1} << f.mantissa) - 1)
    value = NAN;
  else
    value = e == 0 ? std::ldexp(static_cast<double>(m), 1 - bias - f.mantissa)
                   : std::ldexp(static_cast<double>(m + (uint64_t{1} << f.mantissa)),
                                static_cast<int>(e) - bias - f.mantissa);
  return sign != 0 ? -value : value;
}

// All numbers of a float format of at most 16 bits from 0 up, by code.
inline const std::vector<double>& numbers_of(const FormatFacts& f) {
  static std::vector<double> all[format_count];
  std::vector<double>& numbers = all[static_cast<int>(f.format)];
  if (numbers.empty())
    for (uint64_t code = 0; std::isfinite(number_of(f, code)); ++code)
      numbers.push_back(number_of(f, code));
  return numbers;
}

// The code of the nearest number, of two the even one.
inline uint64_t small_code(const FormatFacts& f, double x, bool saturates) {
  const std::vector<double>& numbers = numbers_of(f);
  const uint64_t sign = std::signbit(x) ? uint64_t{1} << (f.exponent + f.mantissa) : 0;
  const double size = std::fabs(x);
  const uint64_t last = numbers.size() - 1;
  // Where the next number would be, if there was one.
  const double beyond = numbers[last] + (numbers[last] - numbers[last - 1]);
  const auto above = std::upper_bound(numbers.begin(), numbers.end(), size);
  const auto low = static_cast<uint64_t>(above - numbers.begin()) - 1;
  const double high = low == last ? beyond : numbers[low + 1];
  uint64_t code = low;
  if (std::isinf(size))
    code = last + 1;
  else if (size - numbers[low] > high - size ||
           (size - numbers[low] == high - size && low % 2 == 1))
    code = low + 1;
  if (code > last && saturates) code = last;
  return sign | std::min(code, last + 1);
}

// NaN becomes a code that is NaN, not necessarily the same one.
inline uint64_t code_of(const FormatFacts& f, double x, bool saturates) {
  if (f.exponent == 0) {
    if (std::isnan(x)) return 0;
    const double whole = std::clamp(std::nearbyint(x), f.least, f.most);
    const auto code = static_cast<uint64_t>(static_cast<int64_t>(whole));
    return f.bytes == 8 ? code : code & ((uint64_t{1} << (8 * f.bytes)) - 1);
  }
  if (f.format == Format::f64) {
    const double most = std::numeric_limits<double>::max();
    return std::bit_cast<uint64_t>(saturates && std::isinf(x) ? std::copysign(most, x) : x);
  }
  if (f.format == Format::f32) {
    const float near = static_cast<float>(x), most = std::numeric_limits<float>::max();
    return std::bit_cast<uint32_t>(saturates && std::isinf(near) ? std::copysign(most, near)
                                                                 : near);
  }
  if (std::isnan(x)) return (uint64_t{1} << (f.exponent + f.mantissa)) - 1;
  return small_code(f, x, saturates);
}

// What Convert promises: scale·x + shift in one step, in f64 or f32, then rounded to the format of y.
inline uint64_t converted(const FormatFacts& y, const FormatFacts& x, uint64_t code, bool computes,
                          float scale, float shift, bool saturates) {
  double value = number_of(x, code);
  if (computes && (is_wide(y.format) || is_wide(x.format)))
    value = std::fma(value, double{scale}, double{shift});
  else if (computes)
    value = std::fmaf(static_cast<float>(value), scale, shift);
  return code_of(y, value, saturates);
}

inline bool same_number(const FormatFacts& f, uint64_t a, uint64_t b) {
  return a == b || (std::isnan(number_of(f, a)) && std::isnan(number_of(f, b)));
}

}  // namespace infini::harness
