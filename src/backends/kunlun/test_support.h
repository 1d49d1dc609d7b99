// What the tests of this backend share: a clean emulator at the beginning, and no violation and no
// leak at the end.
#pragma once

#include <gtest/gtest.h>

#include "infiniop.h"
#include "infinirt.h"
#include "xpu/runtime.h"
#include "xpu_emulator.h"

namespace infini::kunlun {

inline std::string all_violations() {
  std::string text;
  for (int i = 0; const char* one = xpu_emu_violation(i); ++i) text += std::string(one) + "\n";
  return text;
}

// The C API on emulated XPU 0.
class Emulated : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtSetDevice(INFINI_DEVICE_KUNLUN, 0))
        << infiniGetLastErrorString();
    xpu_emu_clear();
    xpu_emu_stats(&before_);
  }
  void TearDown() override {
    xpu_emu_fail_call(0);
    xpu_emu_fail_kernel(0);
    EXPECT_EQ(0, xpu_emu_violations()) << all_violations();
    expect_no_leaks();
    infinirtSetDevice(INFINI_DEVICE_CPU, 0);
  }
  void expect_no_leaks() {
    XpuEmuStats now;
    xpu_emu_stats(&now);
    EXPECT_EQ(before_.live_allocations, now.live_allocations);
    EXPECT_EQ(before_.live_host, now.live_host);
    EXPECT_EQ(before_.live_streams, now.live_streams);
    EXPECT_EQ(before_.live_events, now.live_events);
  }
  XpuEmuStats before_{};
};

#define EXPECT_OK(call) EXPECT_EQ(INFINI_STATUS_SUCCESS, call) << infiniGetLastErrorString()
#define ASSERT_OK(call) ASSERT_EQ(INFINI_STATUS_SUCCESS, call) << infiniGetLastErrorString()

}  // namespace infini::kunlun
