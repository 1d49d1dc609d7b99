// Gemm conformance: curated and random products on the device named by INFINI_TEST_DEVICE; integers
// exactly, random values within the bound of harness/gemm/gemm_check.h.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/environment.h"
#include "harness/gemm/gemm_cases.h"
#include "harness/gemm/gemm_check.h"
#include "harness/rearrange/images.h"
#include "infinirt.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"

namespace infini {
namespace {

using harness::GemmValues;

class GemmConformance : public testing::Test {
 protected:
  void SetUp() override {
    const char* name = std::getenv("INFINI_TEST_DEVICE");
    const infiniDevice_t kind = device_kind_from_name(name ? name : "cpu");
    ASSERT_NE(INFINI_DEVICE_TYPE_COUNT, kind) << "INFINI_TEST_DEVICE is " << name;
    if (infinirtSetDevice(kind, 0) == INFINI_STATUS_SUCCESS) return;
    ASSERT_EQ(nullptr, std::getenv("INFINI_TEST_DEVICE_REQUIRED")) << infiniGetLastErrorString();
    GTEST_SKIP() << infiniGetLastErrorString();
  }

  void expect_right(const harness::GemmProblem& problem, uint64_t seed) {
    for (GemmValues values : {GemmValues::integers, GemmValues::random}) {
      const auto verdict = harness::check(
          values == GemmValues::random ? with_odd_scales(problem) : problem, values, seed);
      if (may_decline(problem, verdict)) return;
      EXPECT_TRUE(verdict.passed) << verdict.message;
      if (verdict.error_over_bound > worst_) worst_ = verdict.error_over_bound;
    }
  }

  // An emulator is slow.
  static bool is_quick() {
    const infiniDevice_t kind = current_device().kind();
    return kind == INFINI_DEVICE_CPU || kind == INFINI_DEVICE_NVIDIA;
  }

  // Chips without f64 matrix units may say so; nothing else is optional.
  static bool may_decline(const harness::GemmProblem& problem,
                          const harness::GemmVerdict& verdict) {
    return problem.a.dtype == INFINI_DTYPE_F64 &&
           verdict.message.find("backend declines") != std::string::npos;
  }

  void TearDown() override { std::printf("largest error / bound: %.3f\n", worst_); }
  double worst_ = 0;
};

TEST_F(GemmConformance, CuratedProducts) {
  for (const std::string& text : harness::curated_gemm_cases())
    expect_right(harness::parse_gemm(text), 1);
}

// Emulated vendors share kernels: they have fewer, and each its own.
TEST_F(GemmConformance, RandomProducts) {
  const bool quick = is_quick();
  harness::Random random(quick ? 44 : 440 + static_cast<uint64_t>(current_device().kind()));
  for (int n = 0; n < (quick ? 600 : 300) && !HasFailure(); ++n)
    expect_right(harness::random_gemm(random, n % 10 == 0 ? 200 : 40), static_cast<uint64_t>(n));
}

// Several blocks, panels and pieces of k, and ragged ends of each; on an emulated matrix unit fewer and smaller.
TEST_F(GemmConformance, LargeRandomProducts) {
  const bool quick = is_quick();
  harness::Random random(48);
  for (int n = 0; n < (quick ? 120 : 20) && !HasFailure(); ++n)
    expect_right(harness::random_gemm(random, quick ? 700 : 250), static_cast<uint64_t>(n));
}

// So wide that k is not divided among blocks, so long that a block takes it in several chunks, and what decoding
// multiplies, at odd addresses, too. Only a chip has the time.
TEST_F(GemmConformance, WideAndLongProducts) {
  if (current_device().kind() != INFINI_DEVICE_NVIDIA) return;
  for (const char* text :
       {"gemm bf16 m=9 n=8701 k=2100", "gemm f16 m=16 n=17001 k=1100 b=t",
        "gemm f32 m=8 n=50001 k=900", "gemm bf16 m=16 n=4416 k=1797 batch=3",
        "gemm f16 m=13 n=1000 k=4104 beta=1", "gemm bf16 m=3 n=512 k=8192 b=t out=f32",
        "gemm bf16 m=4096 n=2 k=4096 b=t c_at=2", "gemm f16 m=4 n=2048 k=2048 a_at=2",
        "gemm bf16 m=1 n=8192 k=520 b_at=2 beta=1"})
    expect_right(harness::parse_gemm(text), 3);
}

TEST_F(GemmConformance, OnACreatedStream) {
  infinirtStream_t stream = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtStreamCreate(&stream));
  harness::Random random(45);
  for (int n = 0; n < 50; ++n) {
    const auto problem = harness::random_gemm(random);
    const auto verdict = harness::check(problem, GemmValues::random, 7, stream);
    if (may_decline(problem, verdict)) continue;
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtStreamDestroy(stream));
}

// A matrix whose elements depend on their indices alone: ±[0.5, 2) with random mantissas, as f16, bf16
// or f32 lie in memory.
harness::Image matrix(const Layout& layout, int64_t misalignment, uint64_t seed) {
  harness::Image image(layout, misalignment);
  const int64_t bytes = dtype_bytes(layout.dtype);
  const uint32_t low = layout.dtype == INFINI_DTYPE_F16    ? 0x3800
                       : layout.dtype == INFINI_DTYPE_BF16 ? 0x3f00
                                                           : 0x3f000000;
  const uint32_t mantissa = layout.dtype == INFINI_DTYPE_F16 ? 0x7ff : bytes == 2 ? 0xff : 0xffffff;
  for (int64_t i = 0; i < layout.shape[0]; ++i) {
    for (int64_t j = 0; j < layout.shape[1]; ++j) {
      const uint64_t drawn =
          harness::Random(seed + static_cast<uint64_t>(i * layout.shape[1] + j)).next();
      const auto sign = static_cast<uint32_t>(drawn >> 63) << (8 * bytes - 1);
      const uint32_t word = low | (static_cast<uint32_t>(drawn) & mantissa) | sign;
      std::memcpy(image.data() + (i * layout.strides[0] + j * layout.strides[1]) * bytes, &word,
                  static_cast<size_t>(bytes));
    }
  }
  return image;
}

std::vector<char> product_of(const Gemm& gemm, const harness::GemmProblem& p, uint64_t seed) {
  const harness::Image a = matrix(p.a, p.a_at, seed), b = matrix(p.b, p.b_at, seed + (1 << 20)),
                       c = matrix(p.c, 0, seed + (2 << 20));
  const harness::DeviceImage on_a(a), on_b(b), on_c(c);
  void* workspace = nullptr;
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtMalloc(&workspace, gemm.workspace_bytes() + 64));
  gemm.run(workspace, gemm.workspace_bytes(), on_c.data(), on_a.data(), on_b.data(), 1.25f, 0.75f,
           nullptr);
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtDeviceSynchronize());
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtFree(workspace));
  return on_c.read();
}

// The law of GemmKernel::arithmetic(): whichever candidate computes, and however A and B lie.
TEST_F(GemmConformance, EqualArithmeticGivesEqualBits) {
  harness::Random random(46);
  const bool forced = std::getenv("INFINI_GEMM") != nullptr;
  int compared = 0;
  for (int n = 0; n < 90 && !HasFailure(); ++n) {
    const char* dtypes[] = {"f16", "bf16", "f32"};
    const int64_t most = n % 4 == 0 ? 520 : 130, unit = n % 2 == 0 ? 8 : 1;
    std::string text = std::string("gemm ") + dtypes[n % 3];
    for (const char* extent : {" m=", " n=", " k="})
      text += extent + std::to_string(unit * random.between(1, most / unit));
    std::map<std::string, std::vector<char>> bits;
    for (const char* candidate : {"", "small"}) {
      if (*candidate != 0 && (forced || current_device().kind() != INFINI_DEVICE_NVIDIA)) continue;
      if (*candidate != 0) setenv("INFINI_GEMM", candidate, 1);
      reread_environment();
      for (const char* how : {"", " a=t", " b=t", " a=t b=t", " b=t a_at=4 b_at=12"}) {
        const auto p = harness::parse_gemm(text + how);
        const Gemm gemm(current_device(), p.c, p.a, p.b);
        if (gemm.arithmetic().empty()) continue;
        const auto result = product_of(gemm, p, static_cast<uint64_t>(n));
        const auto [first, is_new] = bits.emplace(gemm.arithmetic(), result);
        compared += !is_new;
        EXPECT_EQ("", harness::difference(first->second, result, 0, "c"))
            << text << how << ", " << first->first;
      }
      if (*candidate != 0) unsetenv("INFINI_GEMM");
      reread_environment();
    }
  }
  std::printf("%d products compared\n", compared);
}

}  // namespace
}  // namespace infini
