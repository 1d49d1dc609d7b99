// Conversions over all narrow values, against definitions that are written down independently.
#include "base/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace infini {
namespace {

// The value of a small float by its definition.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t top = (1u << exponent_bits) - 1;
  if (has_infinity && exponent == top)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (!has_infinity && exponent == top && mantissa == (1u << mantissa_bits) - 1)
    return std::numeric_limits<double>::quiet_NaN();
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return exponent ? sign * std::ldexp(1 + fraction, static_cast<int>(exponent) - bias)
                  : sign * std::ldexp(fraction, 1 - bias);
}

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  float (*widen)(uint32_t);
  uint32_t (*narrow)(float);
};

const Format formats[] = {
    {"f16", 5, 10, true, [](uint32_t b) { return f32_from_f16(static_cast<uint16_t>(b)); },
     [](float f) -> uint32_t { return f16_from_f32(f); }},
    {"bf16", 8, 7, true, [](uint32_t b) { return f32_from_bf16(static_cast<uint16_t>(b)); },
     [](float f) -> uint32_t { return bf16_from_f32(f); }},
    {"f8", 4, 3, false, [](uint32_t b) { return f32_from_f8(static_cast<uint8_t>(b)); },
     [](float f) -> uint32_t { return f8_from_f32(f); }},
    {"e5m2", 5, 2, true, [](uint32_t b) { return f32_from_e5m2(static_cast<uint8_t>(b)); },
     [](float f) -> uint32_t { return e5m2_from_f32(f); }},
};

class FloatFormats : public testing::TestWithParam<Format> {};

TEST_P(FloatFormats, WidenEveryValue) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits < 1u << (1 + format.exponent_bits + format.mantissa_bits); ++bits) {
    const double expected =
        value_of(bits, format.exponent_bits, format.mantissa_bits, format.has_infinity);
    const float actual = format.widen(bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      EXPECT_EQ(expected, actual) << bits;
      EXPECT_EQ(std::signbit(expected), std::signbit(actual)) << bits;
    }
  }
}

TEST_P(FloatFormats, NarrowKeepsEveryValue) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits < 1u << (1 + format.exponent_bits + format.mantissa_bits); ++bits) {
    const float value = format.widen(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(format.widen(format.narrow(value)))) << bits;
    } else {
      EXPECT_EQ(bits, format.narrow(value)) << bits;
    }
  }
}

// Between two neighbours: below the middle down, above it up, on it to the even one.
TEST_P(FloatFormats, NarrowRoundsToNearestEven) {
  const Format& format = GetParam();
  const uint32_t sign = 1u << (format.exponent_bits + format.mantissa_bits);
  for (uint32_t bits = 0; bits + 1 < sign; ++bits) {
    const double low = format.widen(bits), high = format.widen(bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(middle, (low + high) / 2);
    EXPECT_EQ(bits + (bits & 1), format.narrow(middle)) << bits;
    EXPECT_EQ(bits, format.narrow(std::nextafter(middle, 0.0f))) << bits;
    EXPECT_EQ(bits + 1, format.narrow(std::nextafter(middle, INFINITY))) << bits;
    EXPECT_EQ(bits + 1 + sign, format.narrow(-std::nextafter(middle, INFINITY))) << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FloatFormats, testing::ValuesIn(formats),
                         [](const auto& info) { return info.param.name; });

TEST(FloatFormatLimits, OverflowAndNan) {
  EXPECT_EQ(0x7c00, f16_from_f32(65520.0f));
  EXPECT_EQ(0x7bff, f16_from_f32(65519.99f));
  EXPECT_EQ(0xfc00, f16_from_f32(-1e30f));
  EXPECT_EQ(0x7f80, bf16_from_f32(std::numeric_limits<float>::max()));
  EXPECT_EQ(0x7e, f8_from_f32(464.0f));  // a tie between 448 and the next: to the even one, 448
  EXPECT_EQ(0x7f, f8_from_f32(464.1f));
  EXPECT_EQ(0x7f, f8_from_f32(INFINITY));
  const float signalling = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_from_f32(signalling))));
  EXPECT_TRUE(std::isnan(f32_from_f16(f16_from_f32(signalling))));
}

}  // namespace
}  // namespace infini
