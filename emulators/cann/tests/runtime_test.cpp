// Misuse of devices, contexts, streams, events and memory is caught.
#include <thread>

#include "fixture.h"

namespace cann_emulator {
namespace {

TEST(Start, InitComesFirstAndOnce) {
  aclFinalize();  // another test may have begun
  clear_violations();
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(&p, 16, ACL_MEM_MALLOC_HUGE_FIRST), 100001);
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), 100001);
  EXPECT_EQ(violations().size(), 2u);
  clear_violations();
  EXPECT_EQ(aclInit(nullptr), 0);
  EXPECT_EQ(aclInit(nullptr), 100002);
  EXPECT_TRUE(violations().empty());
  EXPECT_EQ(aclrtMalloc(&p, 16, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
  ASSERT_EQ(violations().size(), 1u);
  EXPECT_EQ(violations()[0].rule, Rule::context);
  clear_violations();
  EXPECT_EQ(aclFinalize(), 0);
  EXPECT_EQ(aclFinalize(), 100037);
  clear_violations();
}

using Runtime = OnDevice;

TEST_F(Runtime, TheDeviceBelongsToTheThread) {
  std::thread([] {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, 16, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
  }).join();
  ASSERT_EQ(violations().size(), 1u);
  clear_violations();
  expect_refused(aclrtSetDevice(99), 107001);
}

TEST_F(Runtime, MessagesBelongToTheThreadAndAreClearedByReading) {
  EXPECT_EQ(aclrtSetDevice(99), 107001);
  std::thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); }).join();
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::strstr(text, "99"), nullptr);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(Runtime, StreamsBelongToADevice) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  ASSERT_EQ(aclrtSetDevice(1), 0);
  expect_broken(aclrtSynchronizeStream(stream), 107003, Rule::ownership);
  ASSERT_EQ(aclrtResetDevice(1), 0);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  ASSERT_EQ(aclrtResetDevice(0), 0);
  EXPECT_EQ(aclrtDestroyStream(stream), 0);
  expect_broken(aclrtSynchronizeStream(stream), 107017, Rule::live_handle);
  expect_broken(aclrtDestroyStream(nullptr), 107017, Rule::live_handle);
}

TEST_F(Runtime, MemoryRules) {
  void* p = nullptr;
  expect_broken(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), 100000, Rule::empty_allocation);
  expect_broken(aclrtFree(nullptr), 100000, Rule::null_free);
  expect_refused(aclrtMalloc(&p, size_t{1} << 50, ACL_MEM_MALLOC_HUGE_FIRST), 207018);
  Buffer a(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.get()) % 64, 0u);
  for (unsigned char byte : a.read<unsigned char>()) EXPECT_EQ(byte, 0xDB);  // poison, not zeros
  expect_broken(aclrtFree(a.get(32)), 107000, Rule::live_handle);
  ASSERT_EQ(aclrtSetDevice(1), 0);
  expect_broken(aclrtFree(a.get()), 107000, Rule::ownership);
  ASSERT_EQ(aclrtResetDevice(1), 0);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  ASSERT_EQ(aclrtResetDevice(0), 0);
  void* freed = nullptr;
  {
    Buffer b(64);
    freed = b.get();
  }
  expect_broken(aclrtFree(freed), 107000, Rule::live_handle);  // twice
}

TEST_F(Runtime, MemoryInfoCounts) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), 0);
  Buffer a(1 << 20);
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), 0);
  EXPECT_EQ(before - after, size_t{1} << 20);
}

TEST_F(Runtime, TheRedZoneIsGuarded) {
  Buffer a(100);
  static_cast<unsigned char*>(host_view(a.get()))[100] = 0;
  expect_broken(aclrtSynchronizeDevice(), 507000, Rule::red_zone);
}

using RuntimeDeathTest = Runtime;
TEST_F(RuntimeDeathTest, TheHostCannotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        aclInit(nullptr);
        aclrtSetDevice(0);
        void* p = nullptr;
        aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST);
        *static_cast<volatile char*>(p) = 1;
      },
      "");
}

TEST_F(Runtime, FreeInFlight) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  Buffer a(64);
  ASSERT_EQ(aclrtMemsetAsync(a.get(), 64, 1, 64, stream), 0);
  expect_broken(aclrtFree(a.get()), 507000, Rule::free_in_flight);
  EXPECT_EQ(aclrtDestroyStream(stream), 0);  // waits
}

TEST_F(Runtime, EventsKeepToTheirFlags) {
  aclrtEvent plain = nullptr, timed = nullptr, reusable = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&plain, 0), 0);
  ASSERT_EQ(aclrtCreateEvent(&timed), 0);
  ASSERT_EQ(aclrtCreateEventExWithFlag(&reusable, ACL_EVENT_SYNC), 0);
  aclrtEventRecordedStatus status;
  ASSERT_EQ(aclrtQueryEventStatus(reusable, &status), 0);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  ASSERT_EQ(aclrtQueryEventStatus(timed, &status), 0);
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
  float ms = 0;
  expect_broken(aclrtEventElapsedTime(&ms, reusable, reusable), 107006,
                Rule::event);                                                    // no time line
  expect_broken(aclrtEventElapsedTime(&ms, timed, timed), 107006, Rule::event);  // not recorded
  expect_broken(aclrtStreamWaitEvent(nullptr, plain), 107000, Rule::event);      // no sync flag
  ASSERT_EQ(aclrtRecordEvent(timed, nullptr), 0);
  expect_refused(aclrtEventElapsedTime(&ms, timed, timed), 107006);  // not complete
  ASSERT_EQ(aclrtSynchronizeEvent(timed), 0);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, timed, timed), 0);
  for (aclrtEvent e : {plain, timed, reusable}) EXPECT_EQ(aclrtDestroyEvent(e), 0);
  expect_broken(aclrtSynchronizeEvent(plain), 107017, Rule::live_handle);
}

TEST_F(Runtime, PollingEnds) {
  Buffer a(64);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(aclrtMemsetAsync(a.get(), 64, i, 64, nullptr), 0);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), 0);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  int polls = 0;
  for (; status == ACL_EVENT_RECORDED_STATUS_NOT_READY && polls < 100; ++polls)
    ASSERT_EQ(aclrtQueryEventStatus(event, &status), 0);
  EXPECT_EQ(polls, 5);
  EXPECT_EQ(aclrtDestroyEvent(event), 0);
}

TEST_F(Runtime, TwoStreamsOnTheSameBytesAreARace) {
  aclrtStream first = nullptr, second = nullptr, third = nullptr;
  aclrtEvent event = nullptr;
  for (aclrtStream* stream : {&first, &second, &third}) ASSERT_EQ(aclrtCreateStream(stream), 0);
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  Buffer a(64);
  ASSERT_EQ(aclrtMemsetAsync(a.get(), 32, 7, 32, first), 0);
  ASSERT_EQ(aclrtMemsetAsync(a.get(32), 32, 8, 32, second), 0);  // other bytes: no race
  expect_broken(aclrtMemsetAsync(a.get(), 64, 9, 64, third), 0, Rule::race);
  ASSERT_EQ(aclrtSynchronizeDevice(), 0);
  ASSERT_EQ(aclrtMemsetAsync(a.get(), 64, 1, 64, first), 0);
  ASSERT_EQ(aclrtRecordEvent(event, first), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), 0);
  ASSERT_EQ(aclrtRecordEvent(event, second), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(third, event), 0);  // after the second, and so after the first
  ASSERT_EQ(aclrtMemsetAsync(a.get(), 64, 2, 64, third), 0);
  ASSERT_EQ(aclrtSynchronizeStream(third), 0);
  EXPECT_EQ(a.read<unsigned char>(), std::vector<unsigned char>(64, 2));
  for (aclrtStream stream : {first, second, third}) ASSERT_EQ(aclrtDestroyStream(stream), 0);
  ASSERT_EQ(aclrtDestroyEvent(event), 0);
}

TEST_F(Runtime, AWaitOrdersTwoStreams) {
  aclrtStream first = nullptr, second = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateStream(&first), 0);
  ASSERT_EQ(aclrtCreateStream(&second), 0);
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  Buffer a(64), b(64);
  ASSERT_EQ(aclrtMemsetAsync(a.get(), 64, 7, 64, first), 0);
  ASSERT_EQ(aclrtRecordEvent(event, first), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(second, event), 0);
  ASSERT_EQ(aclrtMemcpyAsync(b.get(), 64, a.get(), 64, ACL_MEMCPY_DEVICE_TO_DEVICE, second), 0);
  ASSERT_EQ(aclrtSynchronizeStream(second), 0);
  EXPECT_EQ(b.read<unsigned char>(), std::vector<unsigned char>(64, 7));
  ASSERT_EQ(aclrtDestroyStream(first), 0);
  ASSERT_EQ(aclrtDestroyStream(second), 0);
  ASSERT_EQ(aclrtDestroyEvent(event), 0);
}

}  // namespace
}  // namespace cann_emulator
