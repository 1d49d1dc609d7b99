// x·a + b rounded once, of f32 and of f64, on a chip that has neither in one step. Device code.
#pragma once

#include "backends/kunlun/runtime/launch.h"

namespace infini::kunlun {

__device__ inline uint64_t double_bits(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
__device__ inline double double_of(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// The product is exact in f64, and what the sum loses there makes its last bit odd, so that f32 does not see a middle that is none.
__device__ inline float fused(float x, float a, float b) {
  const double product = static_cast<double>(x) * static_cast<double>(a), c = b;
  const double sum = product + c, part = sum - product;
  const double lost = (product - (sum - part)) + (c - part);
  if (sum - sum != 0 || lost == 0) return static_cast<float>(sum);
  uint64_t bits = double_bits(sum);
  if ((bits & 1) == 0) bits += (lost > 0) == (sum > 0) ? 1 : ~uint64_t{0};
  return static_cast<float>(double_of(bits));
}

// (high·2^64 + low)·2^exponent, the highest bit of `high` set unless it is 0.
struct Wide {
  uint64_t high, low;
  int32_t exponent;
};

// Shifted out bits stay as the last one.
__device__ inline void shift_right(Wide& x, int count) {
  x.exponent += count;
  while (count > 0) {
    const int now = count < 63 ? count : 63;
    const uint64_t lost = x.low << (64 - now);
    x.low = (x.low >> now | x.high << (64 - now)) | (lost != 0);
    x.high >>= now;
    count -= now;
    if (x.high == 0 && x.low <= 1) return;  // nothing but what was lost
  }
}
__device__ inline void normalize(Wide& x) {
  if (x.high == 0 && x.low == 0) return;
  while (x.high >> 63 == 0) {
    x.high = x.high << 1 | x.low >> 63;
    x.low <<= 1;
    --x.exponent;
  }
}

// Of a finite number that is not 0, without its sign.
__device__ inline Wide wide_of(double x) {
  const uint64_t bits = double_bits(x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & 0xfffffffffffffu;
  if (field != 0) mantissa |= uint64_t{1} << 52;
  Wide wide{mantissa << 11, 0, (field == 0 ? 1 : field) - 1075 - 75};
  normalize(wide);
  return wide;
}

__device__ inline Wide product_of(const Wide& x, const Wide& y) {
  const uint64_t a = x.high >> 32, b = x.high & 0xffffffffu, c = y.high >> 32,
                 d = y.high & 0xffffffffu;
  const uint64_t middle = a * d + (b * d >> 32), other = b * c + (middle & 0xffffffffu);
  Wide product{a * c + (middle >> 32) + (other >> 32), other << 32 | (b * d & 0xffffffffu),
               x.exponent + 64 + y.exponent + 64};
  normalize(product);
  return product;
}

// To nearest even; beyond the largest number infinity.
__device__ inline double rounded(Wide x, bool negative) {
  const uint64_t sign = negative ? uint64_t{1} << 63 : 0;
  if (x.high == 0 && x.low == 0) return double_of(sign);
  normalize(x);
  int field = x.exponent + 127 + 1023;  // of the highest bit
  if (field > 2046) return double_of(sign | 0x7ff0000000000000u);
  if (field < 1) {
    shift_right(x, 1 - field);
    field = 0;  // a denormal: its highest bit, where rounding gives it one, is the exponent
  } else {
    --field;  // the mantissa's highest bit adds one
  }
  uint64_t mantissa = x.high >> 11;
  const uint64_t rest = x.high << 53 | (x.low != 0), half = uint64_t{1} << 63;
  if (rest > half || (rest == half && (mantissa & 1))) ++mantissa;
  return double_of(sign | ((static_cast<uint64_t>(field) << 52) + mantissa));
}

__device__ inline Wide sum_of(const Wide& a, const Wide& b) {
  const uint64_t low = a.low + b.low;
  return {a.high + b.high + (low < a.low), low, a.exponent};
}
__device__ inline Wide difference_of(const Wide& a, const Wide& b) {
  return {a.high - b.high - (a.low < b.low), a.low - b.low, a.exponent};
}
__device__ inline bool is_less(const Wide& a, const Wide& b) {  // of one exponent
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

__device__ inline double fused(double x, double a, double b) {
  if (x - x != 0 || a - a != 0 || x == 0 || a == 0) return x * a + b;
  if (b - b != 0) return b;
  const bool product_negative = (double_bits(x) ^ double_bits(a)) >> 63,
             b_negative = double_bits(b) >> 63;
  Wide product = product_of(wide_of(x), wide_of(a));
  if (b == 0) return rounded(product, product_negative);
  Wide term = wide_of(b);
  shift_right(product, 1);  // room for a carry; both have zeros there
  shift_right(term, 1);
  const int apart = product.exponent - term.exponent;
  shift_right(apart > 0 ? term : product, apart > 0 ? lesser(apart, 192) : lesser(-apart, 192));
  product.exponent = term.exponent = apart > 0 ? product.exponent : term.exponent;
  if (product_negative == b_negative) return rounded(sum_of(product, term), b_negative);
  if (is_less(product, term)) return rounded(difference_of(term, product), b_negative);
  const Wide rest = difference_of(product, term);
  return rounded(rest, product_negative && (rest.high != 0 || rest.low != 0));
}

}  // namespace infini::kunlun
