// The rules of captures and graphs.
#include <thread>

#include "fixture.h"

namespace {

class CaptureRules : public EmulatorTest {
 protected:
  void begin(simtStreamCaptureMode mode = simtStreamCaptureModeGlobal) {
    ASSERT_EQ(simtSuccess, simtStreamBeginCapture(stream_, mode));
  }
  simtError_t reverse(simtStream_t stream) { return launch_misuse(Misuse::none, y_, x_, stream); }
  // Ends the capture; its graph is gone at once.
  simtError_t end() {
    simtGraph_t graph = nullptr;
    const simtError_t error = simtStreamEndCapture(stream_, &graph);
    EXPECT_EQ(error == simtSuccess, graph != nullptr);
    if (graph != nullptr) simtGraphDestroy(graph);
    return error;
  }
};

TEST_F(CaptureRules, CapturedWorkRunsWhenItIsLaunchedAndAsOften) {
  begin();
  ASSERT_EQ(simtSuccess, reverse(stream_));
  simtGraph_t graph = nullptr;
  simtGraphExec_t exec = nullptr;
  ASSERT_EQ(simtSuccess, simtStreamEndCapture(stream_, &graph));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  EXPECT_EQ(0.0f, first_of(y_));
  ASSERT_EQ(simtSuccess, simtGraphInstantiate(&exec, graph, 0));
  ASSERT_EQ(simtSuccess, simtGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(simtSuccess, simtMemsetAsync(y_, 0, 4, other_));
    ASSERT_EQ(simtSuccess, simtGraphLaunch(exec, other_));
    ASSERT_EQ(simtSuccess, simtStreamSynchronize(other_));
    EXPECT_EQ(static_cast<float>(misuse_threads - 1), first_of(y_));
  }
  ASSERT_EQ(simtSuccess, simtSetDevice(1));
  EXPECT_EQ(simtErrorInvalidResourceHandle, simtGraphLaunch(exec, nullptr));
  ASSERT_EQ(simtSuccess, simtSetDevice(0));
  ASSERT_EQ(simtSuccess, simtGraphExecDestroy(exec));
  EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
  EXPECT_EQ(simtErrorInvalidValue, simtGraphLaunch(exec, other_));
  EXPECT_EQ(simtErrorInvalidValue, simtGraphDestroy(graph));
  expect_only(SIMT_EMU_AFTER_DESTROY);
}

TEST_F(CaptureRules, TheDefaultStreamCannotBeCaptured) {
  EXPECT_EQ(simtErrorStreamCaptureUnsupported,
            simtStreamBeginCapture(nullptr, simtStreamCaptureModeGlobal));
}

TEST_F(CaptureRules, UnsafeCallsSpoilACapture) {
  void* p = nullptr;
  const auto unsafe = {
      +[](void** out) { return simtMalloc(out, 16); },
      +[](void** out) { return simtMallocHost(out, 16); },
      +[](void**) { return simtDeviceSynchronize(); },
      +[](void**) { return simtStreamSynchronize(nullptr); },
      +[](void** out) { return simtFree(*out); },
  };
  for (const auto call : unsafe) {
    begin();
    EXPECT_EQ(simtErrorStreamCaptureUnsupported, call(&p));
    EXPECT_EQ(simtErrorStreamCaptureInvalidated, reverse(stream_));
    EXPECT_EQ(simtErrorStreamCaptureInvalidated, end());
  }
  begin();
  EXPECT_EQ(simtErrorStreamCaptureUnsupported, simtStreamSynchronize(stream_));
  EXPECT_EQ(simtErrorStreamCaptureInvalidated, end());
  EXPECT_EQ(simtSuccess, simtMalloc(&p, 16));
  EXPECT_EQ(simtSuccess, simtFree(p));
}

TEST_F(CaptureRules, ModesSayWhoMustNot) {
  const auto allocate = [] {
    void* p = nullptr;
    const simtError_t error = simtMalloc(&p, 16);
    if (error == simtSuccess) simtFree(p);
    return error;
  };
  simtError_t of_other = simtSuccess;
  for (const auto mode : {simtStreamCaptureModeGlobal, simtStreamCaptureModeThreadLocal}) {
    begin(mode);
    std::thread([&] { of_other = allocate(); }).join();
    EXPECT_EQ(mode == simtStreamCaptureModeGlobal, of_other != simtSuccess);
    EXPECT_NE(simtSuccess, allocate());
    EXPECT_EQ(simtErrorStreamCaptureInvalidated, end());
  }
  begin(simtStreamCaptureModeRelaxed);
  EXPECT_EQ(simtSuccess, allocate());
  std::thread([&] { of_other = end(); }).join();
  EXPECT_EQ(simtSuccess, of_other);
}

TEST_F(CaptureRules, ACaptureEndsWhereAndByWhomItBegan) {
  simtGraph_t graph = nullptr;
  EXPECT_EQ(simtErrorIllegalState, simtStreamEndCapture(stream_, &graph));
  begin();
  EXPECT_EQ(simtErrorIllegalState, simtStreamBeginCapture(stream_, simtStreamCaptureModeGlobal));
  simtError_t of_other = simtSuccess;
  std::thread([&] { of_other = simtStreamEndCapture(stream_, &graph); }).join();
  EXPECT_EQ(simtErrorStreamCaptureWrongThread, of_other);
  EXPECT_EQ(simtSuccess, end());
}

TEST_F(CaptureRules, ForkedWorkMustBeJoined) {
  simtEvent_t fork = nullptr, join = nullptr;
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&fork, simtEventDisableTiming));
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&join, simtEventDisableTiming));
  for (const bool joins : {false, true}) {
    begin();
    ASSERT_EQ(simtSuccess, simtEventRecord(fork, stream_));
    ASSERT_EQ(simtSuccess, simtStreamWaitEvent(other_, fork, 0));
    ASSERT_EQ(simtSuccess, reverse(other_));
    ASSERT_EQ(simtSuccess, simtEventRecord(join, other_));
    if (joins) simtStreamWaitEvent(stream_, join, 0);
    EXPECT_EQ(joins ? simtSuccess : simtErrorStreamCaptureUnjoined, end());
    simtStreamCaptureStatus status = simtStreamCaptureStatusActive;
    EXPECT_EQ(simtSuccess, simtStreamIsCapturing(other_, &status));
    EXPECT_EQ(simtStreamCaptureStatusNone, status);
  }
  begin();
  ASSERT_EQ(simtSuccess, simtEventRecord(fork, stream_));
  EXPECT_EQ(simtErrorStreamCaptureUnsupported, simtEventQuery(fork));
  EXPECT_EQ(simtErrorStreamCaptureInvalidated, end());
  EXPECT_EQ(simtSuccess, simtEventDestroy(fork));
  EXPECT_EQ(simtSuccess, simtEventDestroy(join));
}

TEST_F(CaptureRules, NothingOutsideIsWaitedFor) {
  simtEvent_t outside = nullptr;
  ASSERT_EQ(simtSuccess, simtEventCreateWithFlags(&outside, 0));
  ASSERT_EQ(simtSuccess, simtEventRecord(outside, other_));
  begin();
  EXPECT_EQ(simtErrorStreamCaptureIsolation, simtStreamWaitEvent(stream_, outside, 0));
  EXPECT_EQ(simtErrorStreamCaptureInvalidated, end());
  EXPECT_EQ(simtSuccess, simtEventDestroy(outside));
}

TEST_F(CaptureRules, MemoryOfACaptureLivesInItsGraph) {
  simtGraph_t graph = nullptr;
  simtGraphExec_t exec = nullptr;
  float* inside = nullptr;
  begin();
  ASSERT_EQ(simtSuccess, simtMallocAsync(as_void(&inside), buffer_bytes, stream_));
  ASSERT_EQ(simtSuccess, launch_misuse(Misuse::none, inside, x_, stream_));
  ASSERT_EQ(simtSuccess, launch_misuse(Misuse::none, y_, inside, stream_));
  ASSERT_EQ(simtSuccess, simtFreeAsync(inside, stream_));
  ASSERT_EQ(simtSuccess, simtStreamEndCapture(stream_, &graph));
  ASSERT_EQ(simtSuccess, simtGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) ASSERT_EQ(simtSuccess, simtGraphLaunch(exec, stream_));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  EXPECT_EQ(0.0f, first_of(y_));
  EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
  ASSERT_EQ(simtSuccess, simtGraphExecDestroy(exec));
  ASSERT_EQ(simtSuccess, simtGraphDestroy(graph));
}

}  // namespace
