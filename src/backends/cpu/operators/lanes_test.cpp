// The lane kernels of every instruction set: transcendental functions against double, and operators past the caches.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/operators/lanes.h"
#include "backends/cpu/rearrange/schedule.h"
#include "harness/operators/operator_check.h"
#include "harness/operators/operator_problem.h"

namespace infini::cpu {
namespace {

// All numbers of 16 bits of two kinds, and as many in between, as f32.
std::vector<float> many_numbers() {
  const LaneTable& lanes = lane_table(Isa::portable);
  std::vector<uint16_t> codes(1 << 16);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  const auto count = static_cast<int64_t>(codes.size());
  std::vector<float> all(3 * codes.size());
  for (const Lane kind : {Lane::f16, Lane::bf16})
    lanes.of[static_cast<int>(kind)].casts[0](all.data() + (kind == Lane::f16 ? 0 : count),
                                              codes.data(), count, false);
  for (size_t i = 0; i < codes.size(); ++i)
    all[2 * codes.size() + i] = -15.0f + 30.0f * static_cast<float>(i) / 65537.0f;
  return all;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct Formula {
  Function function;
  double (*value)(double x);
  double (*roundings)(double x);
};
constexpr Formula formulas[] = {
    {Function::sigmoid, logistic, [](double) { return 7.0; }},
    {Function::silu, [](double x) { return x * logistic(x); }, [](double) { return 8.0; }},
    {Function::gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
     [](double x) { return 8 + 3 * x * x; }},
};

TEST(OperatorLanes, FunctionsOfAllNumbersAgreeWithDouble) {
  const std::vector<float> x = many_numbers();
  std::vector<float> y(x.size());
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!offers(isa)) continue;
    for (const auto& [function, value, roundings] : formulas) {
      lane_table(isa).of[0].maps[static_cast<int>(function)](y.data(), x.data(), nullptr,
                                                             static_cast<int64_t>(x.size()), false);
      for (size_t i = 0; i < x.size(); ++i) {
        const double in = x[i], want = value(in), got = y[i];
        if (std::isnan(in)) {
          EXPECT_TRUE(std::isnan(got)) << facts_of(function).name;
        } else if (std::isfinite(in)) {
          ASSERT_LE(std::abs(got - want),
                    (1 + roundings(in)) * 0x1p-24 * std::abs(want) + (1 + std::abs(in)) * 0x1p-125)
              << facts_of(function).name << " of " << in << " with " << isa_name(isa);
        }
      }
    }
  }
}

TEST(OperatorLanes, ExponentialsEndWhereF32Does) {
  const float x[] = {-INFINITY, -1e30f, -87.5f, -86.5f, -1.0f, 0.0f, NAN};
  constexpr int count = sizeof x / sizeof *x;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!offers(isa)) continue;
    const LaneKernels& kernels = lane_table(isa).of[0];
    float y[count];
    kernels.exponentials(y, x, 0, 1, count, false);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(y[i], 0) << x[i];
    for (int i = 3; i < 5; ++i)
      EXPECT_NEAR(static_cast<double>(y[i]) / std::exp(static_cast<double>(x[i])), 1, 2e-7) << x[i];
    EXPECT_EQ(y[5], 1);
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_NEAR(kernels.sum_exponentials(x, 0, count - 1, nullptr), 1.36787944f, 2e-7f);
    EXPECT_EQ(kernels.largest(x, count, false), 0);
  }
}

// A tail of any length counts for what it has, and nothing behind it is written.
TEST(OperatorLanes, TailsAreWhatTheyAre) {
  const LaneTable& portable = lane_table(Isa::portable);
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (!offers(isa)) continue;
    for (int kind = 0; kind < lane_count; ++kind)
      for (int64_t count = 1; count < 200; ++count) {
        const size_t bytes = kind == 0 ? 4 : 2;
        std::vector<float> numbers(static_cast<size_t>(count), -3.0f);
        numbers.back() = -2.0f;
        std::vector<char> x(200 * bytes), y(200 * bytes, 'y');
        portable.of[0].casts[kind](x.data(), numbers.data(), count, false);
        const LaneKernels& kernels = lane_table(isa).of[kind];
        EXPECT_EQ(kernels.largest(x.data(), count, false), -2.0f) << count;
        EXPECT_EQ(kernels.sum_squares(x.data(), count, false),
                  9.0f * static_cast<float>(count - 1) + 4);
        const double want = 1 + static_cast<double>(count - 1) * std::exp(-1.0);
        EXPECT_NEAR(
            static_cast<double>(kernels.sum_exponentials(x.data(), -2.0f, count, nullptr)) / want,
            1, 4e-7);
        kernels.zeros(y.data(), count, true);
        for (size_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(y[i], i < static_cast<size_t>(count) * bytes ? 0 : 'y') << count;
      }
  }
}

// Rows of every length and alignment, in place, repeated and strided ones.
TEST(OperatorLanes, PastTheCachesNothingElseIsComputed) {
  Policy low = current_policy();
  low.streamed_bytes = 0;
  const ForcedPolicy forced(low);
  for (const char* text : {"add bf16 7x1001",
                           "add f32 3x4099",
                           "add f16 5x64 c=128,1",
                           "mul f32 5x33 b_shape=1x33",
                           "mul bf16 5x700 b_shape=5x1",
                           "add f32 3x999 in_place=a",
                           "rope f16 7x4x64 algo=neox in_place=x",
                           "add bf16 3x999 c_at=2",
                           "silu bf16 64x64 y=1,64",
                           "gelu f32 3x777",
                           "swiglu f16 9x513",
                           "sigmoid f16 2x40000",
                           "cast bf16 5x1001 x_dtype=f32",
                           "cast f32 5x1001 x_dtype=f16",
                           "rms_norm bf16 5x1000",
                           "rms_norm f32 3x4096",
                           "rms_norm f16 7x63 x=128,2",
                           "rope bf16 9x4x128 algo=neox",
                           "rope f32 9x4x64",
                           "causal_softmax bf16 3x17x1000",
                           "causal_softmax f32 2x1x20000"}) {
    const auto verdict = harness::check(harness::parse_operator(text));
    EXPECT_TRUE(verdict.passed) << text << ": " << verdict.message;
  }
}

}  // namespace
}  // namespace infini::cpu
