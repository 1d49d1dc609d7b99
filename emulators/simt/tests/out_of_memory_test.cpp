// A host without memory: every allocation of the emulator fails once, in a program that uses all of it. Calls then answer
// with an error, nothing is half made, and the next launch works.
#include "../../common/failing_new.h"
#include "fixture.h"

namespace {

using emulators::fail_new, emulators::new_has_failed;

// Everything that a client does, in order; goes on after errors, as clients in destructors do.
class Client {
 public:
  void work() {
    simtMalloc(as_void(&x_), buffer_bytes);
    simtMalloc(as_void(&y_), buffer_bytes);
    simtMallocHost(as_void(&host_), buffer_bytes);
    simtStreamCreateWithFlags(&stream_, simtStreamNonBlocking);
    simtEventCreateWithFlags(&event_, simtEventDisableTiming);
    if (x_ == nullptr || y_ == nullptr || host_ == nullptr || !stream_ || !event_) return;
    simtMemcpyAsync(x_, host_, buffer_bytes, simtMemcpyHostToDevice, stream_);
    simtMemsetAsync(y_, 0, buffer_bytes, stream_);
    for (const Misuse way : {Misuse::none, Misuse::shared_words})
      launch_misuse(way, y_, x_, stream_);
    simtEventRecord(event_, stream_);
    simtStreamWaitEvent(nullptr, event_, 0);
    if (simtMallocAsync(as_void(&z_), buffer_bytes, stream_) != simtSuccess) z_ = nullptr;
    simtStreamSynchronize(stream_);
    if (z_ != nullptr && simtFreeAsync(z_, stream_) == simtSuccess) z_ = nullptr;
    record();
    simtDeviceSynchronize();
  }

  // Releases what there is; a release that fails leaves its object as it was.
  void release() {
    const auto drop = [](auto& handle, auto destroy) {
      if (handle != nullptr && destroy(handle) == simtSuccess) handle = nullptr;
    };
    drop(exec_, simtGraphExecDestroy);
    drop(graph_, simtGraphDestroy);
    drop(event_, simtEventDestroy);
    drop(stream_, simtStreamDestroy);
    for (float** p : {&x_, &y_, &z_}) drop(*p, [](float* q) { return simtFree(q); });
    drop(host_, [](float* p) { return simtFreeHost(p); });
  }

 private:
  static void** as_void(float** p) { return reinterpret_cast<void**>(p); }

  void record() {
    if (simtStreamBeginCapture(stream_, simtStreamCaptureModeRelaxed) != simtSuccess) return;
    launch_misuse(Misuse::none, y_, x_, stream_);
    if (simtStreamEndCapture(stream_, &graph_) != simtSuccess) graph_ = nullptr;
    if (graph_ != nullptr && simtGraphInstantiate(&exec_, graph_, 0) == simtSuccess)
      simtGraphLaunch(exec_, stream_);
  }

  float *x_ = nullptr, *y_ = nullptr, *z_ = nullptr, *host_ = nullptr;
  simtStream_t stream_ = nullptr;
  simtEvent_t event_ = nullptr;
  simtGraph_t graph_ = nullptr;
  simtGraphExec_t exec_ = nullptr;
};

// The n-th allocation fails, for every n there is.
void fail_each(bool for_good) {
  bool failed = true;
  int64_t n = 1;
  for (; failed; ++n) {
    SCOPED_TRACE(n);
    SimtEmuStats before, after;
    simt_emu_stats(&before);
    Client client;
    fail_new(n, for_good);
    client.work();
    client.release();
    failed = new_has_failed();
    fail_new(0, false);
    simt_emu_reset_device(0);
    simtDeviceSynchronize();
    simt_emu_reset_device(0);
    client.release();
    simt_emu_stats(&after);
    ASSERT_EQ(before.live_device, after.live_device);
    ASSERT_EQ(before.live_pinned, after.live_pinned);
    ASSERT_EQ(before.live_streams, after.live_streams);
    ASSERT_EQ(before.live_events, after.live_events);
    ASSERT_EQ(before.live_graphs + before.live_execs, after.live_graphs + after.live_execs);
  }
  EXPECT_GT(n, 50);  // it did allocate
}

class OutOfMemory : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(simtSuccess, simtSetDevice(0)); }
};

// Nothing has been launched yet: what the emulator makes once fails here, too.
TEST_F(OutOfMemory, EveryAllocationMayFailOnce) { fail_each(false); }
TEST_F(OutOfMemory, EveryAllocationMayFailForGood) { fail_each(true); }

// What was half done must not change what comes after.
class AfterThat : public EmulatorTest {};
TEST_F(AfterThat, LaunchesAreRight) {
  ASSERT_EQ(simtSuccess, launch_misuse(Misuse::none, y_, x_, stream_));
  ASSERT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  EXPECT_EQ(misuse_threads - 1, first_of(y_));
  EXPECT_EQ(0, simt_emu_violations());
}

}  // namespace
