// Copies and fills: misuse is caught, and asynchronous means late.
#include "fixture.h"

namespace cann_emulator {
namespace {

using Transfer = OnDevice;

TEST_F(Transfer, TheDestinationMustBeLargeEnough) {
  Buffer a(64);
  char host[128] = {};
  expect_broken(aclrtMemcpy(a.get(), 32, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 107000,
                Rule::capacity);
  expect_broken(aclrtMemcpy(a.get(), 128, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 107000,
                Rule::capacity);
  expect_broken(aclrtMemset(a.get(), 32, 0, 64), 107000, Rule::capacity);
  expect_broken(aclrtMemcpy(host, 128, a.get(), 128, ACL_MEMCPY_DEVICE_TO_HOST), 107000,
                Rule::out_of_bounds);
}

TEST_F(Transfer, TheKindMustTellTheTruth) {
  Buffer a(64);
  char host[64] = {};
  expect_broken(aclrtMemcpy(a.get(), 64, host, 64, ACL_MEMCPY_DEVICE_TO_DEVICE), 107000,
                Rule::pointer_class);
  expect_broken(aclrtMemcpy(host, 64, a.get(), 64, ACL_MEMCPY_HOST_TO_HOST), 107000,
                Rule::pointer_class);
  expect_broken(aclrtMemset(host, 64, 0, 64), 107000, Rule::pointer_class);
  expect_refused(aclrtMemcpyAsync(host, 64, host, 64, ACL_MEMCPY_HOST_TO_HOST, nullptr), 207000);
}

TEST_F(Transfer, MemoryOfAnotherDeviceIsNotReachable) {
  Buffer a(64);
  ASSERT_EQ(aclrtSetDevice(1), 0);
  char host[64] = {};
  expect_broken(aclrtMemcpy(host, 64, a.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST), 107000,
                Rule::out_of_bounds);
  ASSERT_EQ(aclrtResetDevice(1), 0);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  ASSERT_EQ(aclrtResetDevice(0), 0);
}

TEST_F(Transfer, PinnedCopiesAreLateAndPageableOnesBlock) {
  Buffer a(64);
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 64), 0);
  std::memset(pinned, 1, 64);
  ASSERT_EQ(aclrtMemcpyAsync(a.get(), 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, nullptr), 0);
  std::memset(pinned, 2, 64);  // too early: the copy has not happened
  expect_broken(aclrtFreeHost(pinned), 507000, Rule::free_in_flight);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(a.read<char>(), std::vector<char>(64, 2));
  ASSERT_EQ(aclrtFreeHost(pinned), 0);
  std::vector<char> pageable(64, 3);
  ASSERT_EQ(aclrtMemcpyAsync(a.get(), 64, pageable.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
            0);
  EXPECT_EQ(live().queued_tasks, 0u);
  EXPECT_EQ(a.read<char>(), pageable);
}

TEST_F(Transfer, ABlockingCopyDoesNotWait) {
  Buffer a(64);
  char host[64];
  ASSERT_EQ(aclrtMemsetAsync(a.get(), 64, 5, 64, nullptr), 0);
  expect_broken(aclrtMemcpy(host, 64, a.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST), 0,
                Rule::unsynchronised);
  EXPECT_EQ(static_cast<unsigned char>(host[0]),
            0xDB);  // what a client that forgot to wait would see
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
}

TEST_F(Transfer, RowsObeyPitchesAndLimits) {
  Buffer a(64), b(64);
  auto copy = [&](size_t dpitch, size_t spitch, size_t width, size_t height) {
    return aclrtMemcpy2dAsync(a.get(), dpitch, b.get(), spitch, width, height,
                              ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr);
  };
  expect_broken(copy(4, 16, 8, 2), 107000, Rule::capacity);
  expect_broken(copy(6'000'000, 6'000'000, 6'000'000, 1), 107000, Rule::capacity);
  expect_broken(copy(1, 1, 1, 6'000'000), 107000, Rule::capacity);
  expect_broken(copy(16, 16, 8, 5), 107000, Rule::out_of_bounds);
  b.write(iota<char>(64));
  ASSERT_EQ(aclrtMemset(a.get(), 64, 0, 64), 0);
  ASSERT_EQ(copy(8, 16, 2, 3), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  std::vector<char> expected(64, 0);
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < 2; ++i) expected[row * 8 + i] = static_cast<char>(row * 16 + i + 1);
  EXPECT_EQ(a.read<char>(), expected);
  EXPECT_EQ(counters().copies_2d, 1u);
}

}  // namespace
}  // namespace cann_emulator
