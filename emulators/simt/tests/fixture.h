// What the emulator's tests share: two buffers and a stream on device 0, and a look at what was
// broken.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "misuse.h"

constexpr size_t buffer_bytes = misuse_floats * sizeof(float);

class EmulatorTest : public testing::Test {
 protected:
  void SetUp() override {
    simt_emu_clear();
    simt_emu_seed(1);
    ASSERT_EQ(simtSuccess, simtSetDevice(0));
    simt_emu_stats(&before_);
    for (float** p : {&x_, &y_}) ASSERT_EQ(simtSuccess, simtMalloc(as_void(p), buffer_bytes));
    ASSERT_EQ(simtSuccess, simtMallocHost(as_void(&host_), buffer_bytes));
    for (simtStream_t* stream : {&stream_, &other_})
      ASSERT_EQ(simtSuccess, simtStreamCreateWithFlags(stream, simtStreamNonBlocking));
    for (size_t i = 0; i < misuse_floats; ++i) host_[i] = static_cast<float>(i);
    ASSERT_EQ(simtSuccess, simtMemcpy(x_, host_, buffer_bytes, simtMemcpyHostToDevice));
    ASSERT_EQ(simtSuccess, simtMemset(y_, 0, buffer_bytes));
    ASSERT_EQ(simtSuccess, simtDeviceSynchronize());
  }
  void TearDown() override {
    for (const int device : {0, 1}) simt_emu_reset_device(device);
    EXPECT_EQ(simtSuccess, simtSetDevice(0));
    simtDeviceSynchronize();
    simt_emu_reset_device(0);
    for (simtStream_t stream : {stream_, other_}) EXPECT_EQ(simtSuccess, simtStreamDestroy(stream));
    for (float* p : {x_, y_}) EXPECT_EQ(simtSuccess, simtFree(p));
    EXPECT_EQ(simtSuccess, simtFreeHost(host_));
    SimtEmuStats after;
    simt_emu_stats(&after);
    EXPECT_EQ(before_.live_device, after.live_device);
    EXPECT_EQ(before_.live_pinned, after.live_pinned);
    EXPECT_EQ(before_.live_streams, after.live_streams);
    EXPECT_EQ(before_.live_events, after.live_events);
    EXPECT_EQ(before_.live_graphs, after.live_graphs);
    EXPECT_EQ(before_.live_execs, after.live_execs);
    simt_emu_clear();
    simtGetLastError();
  }

  static void** as_void(float** p) { return reinterpret_cast<void**>(p); }
  // Only this rule was broken.
  static void expect_only(SimtEmuRule rule) {
    EXPECT_GT(simt_emu_violations_of(rule), 0);
    EXPECT_EQ(simt_emu_violations_of(rule), simt_emu_violations())
        << simt_emu_violation(0) << " ... " << simt_emu_violation(simt_emu_violations() - 1);
  }
  float first_of(const float* device) {
    float value = -1;
    EXPECT_EQ(simtSuccess, simtMemcpy(&value, device, sizeof value, simtMemcpyDeviceToHost));
    return value;
  }

  SimtEmuStats before_{};
  float *x_ = nullptr, *y_ = nullptr, *host_ = nullptr;
  simtStream_t stream_ = nullptr, other_ = nullptr;
};
