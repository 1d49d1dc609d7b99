// A cluster has 256 KB of shared memory: a program that takes all of it runs, one float more is caught.
#include "shared_budget.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "xpu/runtime.h"
#include "xpu_emulator.h"

namespace {
constexpr size_t budget = (256 << 10) / sizeof(float);

TEST(SharedBudget, OnlyWhatFitsRuns) {
  xpu_emu_clear();
  std::vector<float> sent(64), got(64, -1.0f);
  std::iota(sent.begin(), sent.end(), 1.0f);
  float *x = nullptr, *y = nullptr;
  ASSERT_EQ(0, xpu_malloc(reinterpret_cast<void**>(&x), 64 * sizeof(float)));
  ASSERT_EQ(0, xpu_malloc(reinterpret_cast<void**>(&y), 64 * sizeof(float)));
  ASSERT_EQ(0, xpu_memcpy(x, sent.data(), 64 * sizeof(float), XPU_HOST_TO_DEVICE));
  ASSERT_EQ(0, launch_through_shared(y, x));
  if (SHARED_FLOATS <= budget) {
    EXPECT_EQ(0, xpu_wait());
    EXPECT_EQ(0, xpu_memcpy(got.data(), y, 64 * sizeof(float), XPU_DEVICE_TO_HOST));
    EXPECT_EQ(sent, got);
    EXPECT_EQ(0, xpu_emu_violations()) << xpu_emu_violation(0);
  } else {
    EXPECT_EQ(-XPUERR_KEXCEPTION, xpu_wait());
    EXPECT_EQ(1, xpu_emu_violations_of(XPU_EMU_SM_BUDGET));
    EXPECT_EQ(1, xpu_emu_violations()) << xpu_emu_violation(0);
    xpu_emu_reset_device(0);
  }
  EXPECT_EQ(0, xpu_free(x));
  EXPECT_EQ(0, xpu_free(y));
}
}  // namespace
