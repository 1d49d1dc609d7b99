// The rules of the runtime: lazy streams, handles, copies, errors, waits, planned failures, leaks.
#include <csignal>
#include <cstdlib>
#include <thread>

#include "fixture.h"

namespace {

using RuntimeRules = EmulatorTest;

simtError_t reverse(float* to, const float* from, simtStream_t stream) {
  return launch_misuse(Misuse::none, to, from, stream);
}

uint64_t waits_so_far() {
  SimtEmuStats stats;
  simt_emu_stats(&stats);
  return stats.waits;
}

TEST_F(RuntimeRules, NothingRunsBeforeSomebodyWaits) {
  SimtEmuStats stats;
  simt_emu_clear();
  ASSERT_EQ(simtSuccess, reverse(y_, x_, stream_));
  ASSERT_EQ(simtSuccess, simtMemcpyAsync(host_, y_, buffer_bytes, simtMemcpyDeviceToHost, stream_));
  simt_emu_stats(&stats);
  EXPECT_EQ(0u, stats.launches + stats.copies + stats.waits);
  EXPECT_EQ(0.0f, host_[0]);
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  simt_emu_stats(&stats);
  EXPECT_EQ(1u, stats.launches);
  EXPECT_EQ(1u, stats.waits);
  EXPECT_EQ(static_cast<float>(misuse_threads - 1), host_[0]);
}

#ifndef SIMT_EMU_NO_HOOKS
TEST_F(RuntimeRules, StreamsRaceUnlessAnEventOrdersThem) {
  for (const bool use_event : {false, true}) {
    simt_emu_clear();
    simtEvent_t event = nullptr;
    ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&event, simtEventDisableTiming));
    ASSERT_EQ(simtSuccess, reverse(y_, x_, stream_));
    ASSERT_EQ(simtSuccess, simtEventRecord(event, stream_));
    if (use_event) simtStreamWaitEvent(other_, event, 0);
    ASSERT_EQ(simtSuccess, simtMemsetAsync(y_, 0, 4, other_));
    ASSERT_EQ(simtSuccess, simtStreamSynchronize(other_));
    ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
    EXPECT_EQ(use_event ? 0 : 1, simt_emu_violations_of(SIMT_EMU_STREAM_RACE));
    EXPECT_EQ(simtSuccess, simtEventDestroy(event));
  }
}

// As CUDA's: they return while the default stream works, and other streams do not wait for it.
TEST_F(RuntimeRules, SynchronousCallsInsideADeviceAreNotDoneWhenTheyReturn) {
  ASSERT_EQ(simtSuccess, simtMemset(x_, 0, buffer_bytes));
  ASSERT_EQ(simtSuccess, reverse(y_, x_, stream_));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(nullptr));
  expect_only(SIMT_EMU_STREAM_RACE);
  simt_emu_clear();
  std::vector<float> pageable(misuse_floats);
  ASSERT_EQ(simtSuccess, simtMemcpy(x_, pageable.data(), buffer_bytes, simtMemcpyHostToDevice));
  ASSERT_EQ(simtSuccess, reverse(y_, x_, stream_));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(nullptr));
  expect_only(SIMT_EMU_STREAM_RACE);
}

TEST_F(RuntimeRules, StreamOrderedMemoryIsOrderedOnItsStream) {
  float* p = nullptr;
  ASSERT_EQ(simtSuccess, simtMallocAsync(as_void(&p), buffer_bytes, stream_));
  ASSERT_EQ(simtSuccess, reverse(p, x_, stream_));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  ASSERT_EQ(simtSuccess, reverse(y_, p, other_));
  ASSERT_EQ(simtSuccess, simtFreeAsync(p, stream_));  // `other_` may not be done
  simtStreamSynchronize(other_);
  simtStreamSynchronize(stream_);
  EXPECT_GT(simt_emu_violations_of(SIMT_EMU_STREAM_RACE) + simt_emu_violations_of(SIMT_EMU_BOUNDS),
            0);
}
#endif

TEST_F(RuntimeRules, PageableMemoryMakesAnAsynchronousCopyWait) {
  std::vector<float> pageable(misuse_floats);
  const uint64_t before = waits_so_far();
  ASSERT_EQ(simtSuccess, simtMemcpyAsync(x_, host_, buffer_bytes, simtMemcpyHostToDevice, stream_));
  EXPECT_EQ(before, waits_so_far());
  ASSERT_EQ(simtSuccess,
            simtMemcpyAsync(x_, pageable.data(), buffer_bytes, simtMemcpyHostToDevice, stream_));
  EXPECT_EQ(before + 1, waits_so_far());
  ASSERT_EQ(simtSuccess,
            simtMemcpyAsync(pageable.data(), x_, buffer_bytes, simtMemcpyDeviceToHost, stream_));
  EXPECT_EQ(before + 2, waits_so_far());
}

TEST_F(RuntimeRules, KernelsAndEventsBelongToADevice) {
  simtEvent_t event = nullptr;
  ASSERT_EQ(simtSuccess, simtSetDevice(1));
  EXPECT_EQ(simtErrorInvalidResourceHandle, reverse(y_, x_, stream_));
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&event, 0));
  EXPECT_EQ(simtErrorInvalidResourceHandle, simtEventRecord(event, stream_));
  EXPECT_EQ(simtSuccess, simtEventRecord(event, nullptr));
  EXPECT_EQ(simtSuccess, simtEventDestroy(event));
  EXPECT_EQ(simtErrorInvalidDevice, simtSetDevice(2));
  int device = -1;
  std::thread([&] { simtGetDevice(&device); }).join();
  EXPECT_EQ(0, device);  // a new thread's own
}

TEST_F(RuntimeRules, UseAfterDestroyIsCaught) {
  simtStream_t stream = nullptr;
  simtEvent_t event = nullptr;
  ASSERT_EQ(simtSuccess, simtStreamCreateWithFlags(&stream, simtStreamNonBlocking));
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&event, 0));
  ASSERT_EQ(simtSuccess, simtStreamDestroy(stream));
  ASSERT_EQ(simtSuccess, simtEventDestroy(event));
  EXPECT_EQ(simtErrorInvalidResourceHandle, simtStreamSynchronize(stream));
  EXPECT_EQ(simtErrorInvalidResourceHandle, simtStreamDestroy(stream));
  EXPECT_EQ(simtErrorInvalidResourceHandle, simtEventRecord(event, stream_));
  EXPECT_EQ(3, simt_emu_violations_of(SIMT_EMU_AFTER_DESTROY));
  EXPECT_EQ(simtErrorInvalidValue, simtStreamCreateWithFlags(&stream, 0));
}

TEST_F(RuntimeRules, MemoryIsFreedOnceAndAsItWasMade) {
  float *p = nullptr, *pinned = nullptr;
  ASSERT_EQ(simtSuccess, simtMalloc(as_void(&p), buffer_bytes));
  ASSERT_EQ(simtSuccess, simtMallocHost(as_void(&pinned), buffer_bytes));
  EXPECT_EQ(simtErrorInvalidValue, simtFree(p + 1));
  EXPECT_EQ(simtErrorInvalidValue, simtFree(pinned));
  EXPECT_EQ(simtErrorInvalidValue, simtFreeHost(p));
  EXPECT_EQ(simtSuccess, simtFree(p));
  EXPECT_EQ(simtErrorInvalidValue, simtFree(p));
  EXPECT_EQ(simtErrorInvalidValue, simtFreeAsync(p, stream_));
  EXPECT_EQ(simtSuccess, simtFreeHost(pinned));
  EXPECT_EQ(simtErrorInvalidValue, simtFreeHost(pinned));
  ASSERT_EQ(simtSuccess, simtMallocAsync(as_void(&p), buffer_bytes, stream_));
  EXPECT_EQ(simtSuccess, simtFreeAsync(p, stream_));
  EXPECT_EQ(simtErrorInvalidValue, simtFreeAsync(p, stream_));
  simtPointerAttributes where;
  EXPECT_EQ(simtSuccess, simtPointerGetAttributes(&where, p));
  EXPECT_EQ(simtMemoryTypeUnregistered, where.type);
  EXPECT_EQ(simtErrorMemoryAllocation, simtMalloc(as_void(&p), size_t{1} << 40));
}

TEST_F(RuntimeRules, CopiesAreOfTheirKindAndInside) {
  const auto copy = [&](void* dst, const void* src, size_t bytes, simtMemcpyKind kind) {
    const simtError_t now = simtMemcpy(dst, src, bytes, kind);
    EXPECT_EQ(now, simtMemcpyAsync(dst, src, bytes, kind, stream_));
    return now;
  };
  EXPECT_EQ(simtSuccess, copy(y_, x_, buffer_bytes, simtMemcpyDeviceToDevice));
  EXPECT_EQ(simtErrorInvalidValue, copy(y_, x_, buffer_bytes + 1, simtMemcpyDeviceToDevice));
  EXPECT_EQ(simtErrorInvalidValue, copy(y_ - 1, x_, 8, simtMemcpyDeviceToDevice));
  EXPECT_EQ(simtErrorInvalidValue, copy(y_, host_, 8, simtMemcpyDeviceToDevice));
  EXPECT_EQ(simtErrorInvalidValue, copy(host_, x_, 8, simtMemcpyHostToDevice));
  EXPECT_EQ(simtErrorInvalidValue, copy(host_, x_, 8, simtMemcpyHostToHost));
  EXPECT_EQ(simtErrorInvalidValue, copy(y_, x_, 8, static_cast<simtMemcpyKind>(7)));
  EXPECT_EQ(simtErrorInvalidValue, simtMemset(y_, 0, buffer_bytes + 1));
  EXPECT_EQ(simtErrorInvalidValue, simtMemset(host_, 0, 8));
  EXPECT_EQ(simtErrorInvalidValue, simtMemcpyPeer(y_, 1, x_, 0, 8));
  EXPECT_EQ(simtErrorInvalidDevice, simtMemcpyPeer(y_, 0, x_, 9, 8));
  EXPECT_EQ(simtSuccess, simtDeviceSynchronize());
}

TEST_F(RuntimeRules, AThreadsLastErrorStaysUntilItIsTaken) {
  EXPECT_EQ(simtSuccess, simtPeekAtLastError());
  EXPECT_EQ(simtErrorInvalidDevice, simtSetDevice(-1));
  EXPECT_EQ(simtSuccess, simtSetDevice(0));
  std::thread([] { EXPECT_EQ(simtSuccess, simtGetLastError()); }).join();
  EXPECT_EQ(simtErrorInvalidDevice, simtGetLastError());
  EXPECT_EQ(simtSuccess, simtGetLastError());
}

TEST_F(RuntimeRules, EventsTimeOnlyWhatHasRun) {
  simtEvent_t first = nullptr, last = nullptr, untimed = nullptr;
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&first, 0));
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&last, simtEventBlockingSync));
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&untimed, simtEventDisableTiming));
  float ms = -1;
  EXPECT_EQ(simtErrorInvalidResourceHandle, simtEventElapsedTime(&ms, first, last));
  for (simtEvent_t event : {first, untimed, last}) {
    EXPECT_EQ(simtSuccess, simtEventRecord(event, stream_));
    EXPECT_EQ(simtSuccess, reverse(y_, x_, stream_));
  }
  EXPECT_EQ(simtErrorNotReady, simtEventElapsedTime(&ms, first, last));
  EXPECT_EQ(simtSuccess, simtEventSynchronize(last));
  EXPECT_EQ(simtSuccess, simtEventQuery(first));
  EXPECT_EQ(simtSuccess, simtEventElapsedTime(&ms, first, last));
  EXPECT_GT(ms, 0);
  EXPECT_EQ(simtErrorInvalidResourceHandle, simtEventElapsedTime(&ms, untimed, last));
  for (simtEvent_t event : {first, untimed, last}) EXPECT_EQ(simtSuccess, simtEventDestroy(event));
}

TEST_F(RuntimeRules, CallsAndKernelsFailAsPlanned) {
  void* p = nullptr;
  simt_emu_fail_call(2, simtErrorMemoryAllocation);
  EXPECT_EQ(simtSuccess, simtSetDevice(0));
  EXPECT_EQ(simtErrorMemoryAllocation, simtMalloc(&p, 16));
  EXPECT_EQ(simtSuccess, simtMemset(y_, 0, 4));
  simt_emu_fail_kernel(1);
  EXPECT_EQ(simtSuccess, reverse(y_, x_, stream_));
  EXPECT_EQ(simtErrorLaunchFailure, simtStreamSynchronize(stream_));
  EXPECT_EQ(simtErrorLaunchFailure, simtMemset(y_, 0, 4));
  simt_emu_reset_device(0);
  EXPECT_EQ(simtSuccess, reverse(y_, x_, stream_));
  EXPECT_EQ(simtSuccess, simtStreamSynchronize(stream_));
}

TEST_F(RuntimeRules, AKernelMustBeKnownAndFit) {
  void* arguments[] = {nullptr};
  EXPECT_EQ(simtErrorInvalidDeviceFunction,
            simtLaunchKernel(arguments, 1, 1, arguments, 0, stream_));
}

TEST(RuntimeExit, TheHostCannotReadDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        void* p = nullptr;
        simtMalloc(&p, 16);
        *static_cast<volatile char*>(p) = 1;
      },
      [](int status) { return status != 0; }, "");
}

TEST(RuntimeExit, StrictProgramsCannotLeak) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("SIMT_EMU_STRICT", "1", 1);
  const auto leak = [] {
    void* p = nullptr;
    simtMalloc(&p, 16);
    std::exit(0);
  };
  EXPECT_EXIT(leak(), testing::ExitedWithCode(86), "still alive: 1 device");
  EXPECT_EXIT(std::exit(simtStreamDestroy(nullptr) == simtSuccess), testing::ExitedWithCode(0), "");
  unsetenv("SIMT_EMU_STRICT");
}

TEST(RuntimeExit, TheNumberOfDevicesIsAsWanted) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int wanted : {0, 1, 5}) {
    setenv("SIMT_EMU_DEVICES", std::to_string(wanted).c_str(), 1);
    const auto count = [] {
      int devices = 0;
      const simtError_t error = simtGetDeviceCount(&devices);
      std::exit(error == simtErrorNoDevice ? 100 : devices);
    };
    EXPECT_EXIT(count(), testing::ExitedWithCode(wanted == 0 ? 100 : wanted), "");
  }
  unsetenv("SIMT_EMU_DEVICES");
}

}  // namespace
