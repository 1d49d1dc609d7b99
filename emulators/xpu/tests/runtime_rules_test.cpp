// The rules of the runtime: lazy streams, copies that wait for nothing, negative codes, leaks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "misuse.h"
#include "xpu_emulator.h"

namespace {
constexpr int32_t count = 16384;
constexpr uint64_t bytes = count * 4;

class RuntimeRules : public testing::Test {
 protected:
  void SetUp() override {
    xpu_emu_clear();
    xpu_emu_stats(&before);
    for (float** p : {&x, &y, &z}) ASSERT_EQ(0, xpu_malloc(reinterpret_cast<void**>(p), bytes));
    std::vector<float> zeros(count, 0.0f), ones(count, 1.0f);
    ASSERT_EQ(0, xpu_memcpy(x, ones.data(), bytes, XPU_HOST_TO_DEVICE));
    ASSERT_EQ(0, xpu_memcpy(y, zeros.data(), bytes, XPU_HOST_TO_DEVICE));
    ASSERT_EQ(0, xpu_memcpy(z, zeros.data(), bytes, XPU_HOST_TO_DEVICE));
    for (XPUStream& stream : streams) ASSERT_EQ(0, xpu_stream_create(&stream));
  }
  void TearDown() override {
    xpu_emu_reset_device(0);
    for (XPUStream stream : streams) EXPECT_EQ(0, xpu_stream_destroy(stream));
    for (float* p : {x, y, z}) EXPECT_EQ(0, xpu_free(p));
    XpuEmuStats after;
    xpu_emu_stats(&after);
    EXPECT_EQ(before.live_allocations, after.live_allocations);
    EXPECT_EQ(before.live_streams, after.live_streams);
    EXPECT_EQ(before.live_events, after.live_events);
    EXPECT_EQ(before.live_host, after.live_host);
    xpu_emu_clear();
  }
  int twice(float* to, const float* from, XPUStream stream) {
    return launch_misuse(Misuse::none, 2, 8, stream, to, from, count);
  }
  float first(const float* p) {
    float value = -1;
    EXPECT_EQ(0, xpu_memcpy(&value, p, 4, XPU_DEVICE_TO_HOST));
    return value;
  }
  XpuEmuStats before{};
  float *x = nullptr, *y = nullptr, *z = nullptr;
  XPUStream streams[2] = {};
};

TEST_F(RuntimeRules, ACopyToTheHostWaitsForTheDefaultStreamOnly) {
  ASSERT_EQ(0, twice(y, x, nullptr));
  EXPECT_EQ(2.0f, first(y));
  EXPECT_EQ(0, xpu_emu_violations());
  ASSERT_EQ(0, twice(z, x, streams[0]));
  EXPECT_EQ(0.0f, first(z));  // stale
  EXPECT_EQ(0, xpu_wait(streams[0]));
  EXPECT_GT(xpu_emu_violations_of(XPU_EMU_STREAM_RACE), 0);
}

TEST_F(RuntimeRules, WaitingMakesTheCopyRight) {
  ASSERT_EQ(0, twice(z, x, streams[0]));
  ASSERT_EQ(0, xpu_wait(streams[0]));
  EXPECT_EQ(2.0f, first(z));
  EXPECT_EQ(0, xpu_emu_violations());
}

TEST_F(RuntimeRules, ACopyToTheDeviceWaitsForNothing) {
  ASSERT_EQ(0, twice(y, x, nullptr));
  const float value = 7;
  ASSERT_EQ(0, xpu_memcpy(x, &value, 4, XPU_HOST_TO_DEVICE));
  ASSERT_EQ(0, xpu_wait());
  EXPECT_GT(xpu_emu_violations_of(XPU_EMU_STREAM_RACE), 0);
}

TEST_F(RuntimeRules, StreamsRaceUnlessAnEventOrdersThem) {
  for (int use_event = 0; use_event < 2; ++use_event) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      xpu_emu_clear();
      xpu_emu_seed(seed);
      XPUEvent event;
      ASSERT_EQ(0, xpu_event_create(&event));
      ASSERT_EQ(0, twice(y, x, streams[0]));
      ASSERT_EQ(0, xpu_event_record(event, streams[0]));
      if (use_event) {
        ASSERT_EQ(0, xpu_stream_wait_event(streams[1], event));
      }
      ASSERT_EQ(0, twice(z, y, streams[1]));
      ASSERT_EQ(0, xpu_wait(streams[1]));
      ASSERT_EQ(0, xpu_wait(streams[0]));
      EXPECT_EQ(use_event ? 0 : 1, xpu_emu_violations_of(XPU_EMU_STREAM_RACE));
      if (use_event) {
        EXPECT_EQ(4.0f, first(z));
      }
      EXPECT_EQ(0, xpu_event_destroy(event));
      EXPECT_EQ(-XPUERR_INVALID_PARAM, xpu_event_destroy(event));
    }
  }
}

TEST_F(RuntimeRules, TheDefaultStreamIsOrderedWithNoOther) {
  ASSERT_EQ(0, twice(y, x, nullptr));
  ASSERT_EQ(0, twice(z, y, streams[0]));
  ASSERT_EQ(0, xpu_wait(streams[0]));
  ASSERT_EQ(0, xpu_wait());
  EXPECT_GT(xpu_emu_violations_of(XPU_EMU_STREAM_RACE), 0);
}

TEST_F(RuntimeRules, AnAsynchronousCopyReadsItsSourceLate) {
  for (int early = 0; early < 2; ++early) {
    xpu_emu_clear();
    xpu_emu_read_sources_early(early);
    float value = 5;
    ASSERT_EQ(0, xpu_memcpy_async(x, &value, 4, XPU_HOST_TO_DEVICE, streams[0]));
    value = 6;
    ASSERT_EQ(0, xpu_wait(streams[0]));
    EXPECT_EQ(early ? 5.0f : 6.0f, first(x));
    EXPECT_EQ(early ? 0 : 1, xpu_emu_violations_of(XPU_EMU_HOST_SOURCE));
  }
  xpu_emu_read_sources_early(0);
}

TEST_F(RuntimeRules, EventsFireWhenTheHostWaitsOrAsks) {
  XPUEvent event;
  ASSERT_EQ(0, xpu_event_create(&event));
  EXPECT_EQ(0, xpu_event_query(event));
  ASSERT_EQ(0, twice(y, x, streams[0]));
  ASSERT_EQ(0, xpu_event_record(event, streams[0]));
  int asked = 0;
  while (xpu_event_query(event) == -XPUERR_BUSY) ASSERT_LT(++asked, 1000);
  EXPECT_EQ(2.0f, first(y));
  ASSERT_EQ(0, xpu_event_record(event, streams[0]));
  EXPECT_EQ(0, xpu_event_wait(event));
  EXPECT_EQ(0, xpu_event_destroy(event));
  EXPECT_EQ(0, xpu_emu_violations());
}

TEST_F(RuntimeRules, MemoryErrorsAreNegative) {
  void* p = nullptr;
  EXPECT_EQ(-XPUERR_INVALID_PARAM, xpu_malloc(&p, 0));
  EXPECT_EQ(-XPUERR_NOMEM, xpu_malloc(&p, 1ull << 60));
  EXPECT_EQ(-XPUERR_INVALID_PARAM, xpu_free(reinterpret_cast<char*>(x) + 4));
  ASSERT_EQ(0, xpu_malloc(&p, 64));
  ASSERT_EQ(0, xpu_free(p));
  EXPECT_EQ(-XPUERR_INVALID_PARAM, xpu_free(p));
  EXPECT_EQ(-XPUERR_DMAABORT, xpu_memcpy(p, &p, 8, XPU_HOST_TO_DEVICE));
  EXPECT_EQ(-XPUERR_DMAABORT, xpu_memcpy(x, &p, 8, XPU_DEVICE_TO_HOST));
  EXPECT_EQ(2, xpu_emu_violations_of(XPU_EMU_BOUNDS));
  EXPECT_EQ(0, xpu_wait());  // a bad address is not sticky
}

TEST_F(RuntimeRules, BlocksAreAlignedWhateverCameBefore) {
  for (uint64_t size : {1, 64, 333, 4097}) {
    void* p = nullptr;
    ASSERT_EQ(0, xpu_malloc(&p, size));
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(p) % 256);
    ASSERT_EQ(0, xpu_free(p));
  }
}

TEST_F(RuntimeRules, L3IsSmall) {
  void *most = nullptr, *rest = nullptr;
  ASSERT_EQ(0, xpu_malloc(&most, 15 << 20, XPU_MEM_L3));
  EXPECT_EQ(-XPUERR_NOMEM, xpu_malloc(&rest, 2 << 20, XPU_MEM_L3));
  EXPECT_EQ(0, xpu_free(most));
}

TEST_F(RuntimeRules, FreeingWhatIsEnqueuedIsSeen) {
  void* p = nullptr;
  ASSERT_EQ(0, xpu_malloc(&p, bytes));
  ASSERT_EQ(0, twice(static_cast<float*>(p), x, streams[0]));
  EXPECT_EQ(0, xpu_free(p));
  EXPECT_EQ(1, xpu_emu_violations_of(XPU_EMU_FREED_IN_USE));
  EXPECT_EQ(-XPUERR_KEXCEPTION, xpu_wait(streams[0]));
}

TEST_F(RuntimeRules, AClosedStreamStaysClosed) {
  XPUStream stream;
  ASSERT_EQ(0, xpu_stream_create(&stream));
  ASSERT_EQ(0, xpu_stream_destroy(stream));
  EXPECT_EQ(-XPUERR_USEAFCLOSE, xpu_wait(stream));
  EXPECT_EQ(-XPUERR_USEAFCLOSE, twice(y, x, stream));
  EXPECT_EQ(-XPUERR_USEAFCLOSE, xpu_stream_destroy(stream));
}

TEST_F(RuntimeRules, DevicesBelongToThreads) {
  EXPECT_EQ(-XPUERR_INVALID_DEVICE, xpu_set_device(99));
  ASSERT_EQ(0, xpu_set_device(1));
  std::thread([] {
    int device = -1;
    EXPECT_EQ(0, xpu_current_device(&device));
    EXPECT_EQ(0, device);
  }).join();
  void* far = nullptr;
  ASSERT_EQ(0, xpu_malloc(&far, bytes));
  ASSERT_EQ(0, xpu_memcpy_peer(1, far, 0, x, bytes));
  EXPECT_EQ(1.0f, first(static_cast<float*>(far)));
  float value;
  EXPECT_EQ(-XPUERR_DMAABORT, xpu_memcpy(&value, x, 4, XPU_DEVICE_TO_HOST));
  EXPECT_EQ(0, twice(static_cast<float*>(far), x, nullptr));
  EXPECT_EQ(-XPUERR_KEXCEPTION, xpu_wait());
  EXPECT_EQ(1, xpu_emu_violations_of(XPU_EMU_WRONG_SPACE));
  EXPECT_EQ(0, xpu_free(far));
  xpu_emu_reset_device(1);
  ASSERT_EQ(0, xpu_set_device(0));
  EXPECT_EQ(0, xpu_wait());  // the other device is not abnormal
}

TEST_F(RuntimeRules, TheNthCallFails) {
  void* p = nullptr;
  xpu_emu_fail_call(2);
  EXPECT_EQ(0, xpu_wait());
  EXPECT_EQ(-XPUERR_NOMEM, xpu_malloc(&p, 64));
  EXPECT_EQ(0, xpu_malloc(&p, 64));
  EXPECT_EQ(0, xpu_free(p));
}

TEST_F(RuntimeRules, ALongQueueStartsByItself) {
  for (int i = 0; i < 200; ++i) ASSERT_EQ(0, twice(y, x, streams[0]));
  XpuEmuStats stats;
  xpu_emu_stats(&stats);
  EXPECT_GT(stats.launches, 100u);
  EXPECT_EQ(0, xpu_wait(streams[0]));
  EXPECT_EQ(0, xpu_emu_violations());
}

TEST(StrictMode, AProgramWithViolationsCannotEndWell) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("XPU_EMU_STRICT", "1", 1);
        char byte = 0;
        xpu_memcpy(&byte, &byte, 1, XPU_DEVICE_TO_HOST);
        std::exit(0);
      },
      testing::ExitedWithCode(86), "bounds");
}

TEST(Strerror, TakesEitherSign) {
  EXPECT_STREQ(xpu_strerror(XPUERR_NOMEM), xpu_strerror(-XPUERR_NOMEM));
}
}  // namespace
