// What tests on an emulated GPU share: two buffers that nothing may be left behind of, and faults at every call.
#pragma once

#include <functional>
#include <string>

#include "simt_emulator.h"
#include "tests/gpu/gpu_fixture.h"

namespace infini::test {

constexpr size_t n = 96, bytes = n * n * sizeof(float);

class EmulatedGpu : public GpuTestWithBuffers {
 protected:
  EmulatedGpu() : GpuTestWithBuffers(bytes) {}

  void SetUp() override {
    GpuTestWithBuffers::SetUp();
    ASSERT_TRUE(emulated_);
    ASSERT_OK(infinirtMemset(a_, 1, bytes));
    simt_emu_clear();
    simt_emu_stats(&before_);
  }
  void TearDown() override {
    simt_emu_fail_call(0, simtSuccess);
    simt_emu_reset_device(0);
    SimtEmuStats after;
    simt_emu_stats(&after);
    EXPECT_EQ(before_.live_device, after.live_device);
    EXPECT_EQ(before_.live_pinned, after.live_pinned);
    EXPECT_EQ(before_.live_events, after.live_events);
    EXPECT_EQ(before_.live_graphs, after.live_graphs);
    EXPECT_EQ(before_.live_execs, after.live_execs);
    EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
    EXPECT_EQ(simtSuccess, simtPeekAtLastError());
    GpuTestWithBuffers::TearDown();
  }

  static uint64_t launches() {
    SimtEmuStats stats;
    simt_emu_stats(&stats);
    return stats.launches;
  }
  static uint64_t waits() {
    SimtEmuStats stats;
    simt_emu_stats(&stats);
    return stats.waits;
  }
  // Every one of the runtime's calls in `work` fails once. `work` says whether all went well; it
  // must clean up with calls that are repeated until they succeed.
  void expect_survives_every_failure(const std::function<infiniStatus_t()>& work);

  SimtEmuStats before_{};
};

inline void EmulatedGpu::expect_survives_every_failure(
    const std::function<infiniStatus_t()>& work) {
  simt_emu_clear();
  ASSERT_EQ(INFINI_STATUS_SUCCESS, work()) << infiniGetLastErrorString();
  const int64_t calls = simt_emu_calls();
  ASSERT_GT(calls, 0);
  int failures = 0;
  for (int64_t i = 1; i <= calls; ++i) {
    simt_emu_clear();
    simt_emu_fail_call(i, simtErrorLaunchFailure);
    const infiniStatus_t status = work();
    simt_emu_fail_call(0, simtSuccess);
    EXPECT_EQ(simtSuccess, simtPeekAtLastError()) << "an error is pending after call " << i;
    if (status == INFINI_STATUS_SUCCESS) continue;  // it was a call of the cleaning up
    ++failures;
    const std::string words = infiniGetLastErrorString();
    EXPECT_NE(std::string::npos, words.find("simtErrorLaunch")) << "call " << i << ": " << words;
    const size_t unfreed = words.find("cannot free 0x");  // it is named, and still there
    if (unfreed != std::string::npos)
      simtFree(reinterpret_cast<void*>(std::stoull(words.substr(unfreed + 12), nullptr, 16)));
    EXPECT_EQ(INFINI_STATUS_SUCCESS, work()) << "after " << i << ": " << infiniGetLastErrorString();
  }
  EXPECT_GT(failures, 0);
}

// The first failure is what is returned.
class FirstFailure {
 public:
  bool operator()(infiniStatus_t status) {
    if (status_ == INFINI_STATUS_SUCCESS) status_ = status;
    return status == INFINI_STATUS_SUCCESS;
  }
  infiniStatus_t status() const { return status_; }

 private:
  infiniStatus_t status_ = INFINI_STATUS_SUCCESS;
};

// What a program does that frees what it holds: one call may fail.
template <class Call>
void surely(const Call& call) {
  if (call() == INFINI_STATUS_SUCCESS) return;
  EXPECT_OK(call());
}

}  // namespace infini::test
