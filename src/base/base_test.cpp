// Errors, the dtype and device tables, cells and the thread count.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/cells.h"
#include "base/checked.h"
#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/threads/thread_count.h"

namespace infini {
namespace {

TEST(Error, CarriesStatusAndWords) {
  try {
    require(false, INFINI_STATUS_BAD_PARAM, "count is ", 7, "; expected ", 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM, error.status());
    EXPECT_STREQ("count is 7; expected 3", error.what());
  }
  EXPECT_NO_THROW(require(true, INFINI_STATUS_BAD_PARAM, "not said"));
}

TEST(Checked, DividesAndRoundsUpToTheLargestNumber) {
  EXPECT_EQ(0, ceil_div(0, 7));
  EXPECT_EQ(1, ceil_div(7, 7));
  EXPECT_EQ(2, ceil_div(8, 7));
  EXPECT_EQ(INT64_MAX, ceil_div(INT64_MAX, 1));
  EXPECT_EQ(INT64_MAX / 2 + 1, ceil_div(INT64_MAX, 2));
  EXPECT_EQ(1, ceil_div(INT64_MAX, INT64_MAX));
  EXPECT_EQ(14, round_up(8, 7));
  EXPECT_EQ(INT64_MAX - 63, round_up(INT64_MAX - 70, 64));
  EXPECT_EQ(INT64_MAX, round_up(INT64_MAX - 62, 64)) << "the next multiple does not fit";
}

TEST(Checked, SaturatesOnTheRightSide) {
  EXPECT_EQ(12, saturating_mul(3, 4));
  EXPECT_EQ(INT64_MAX, saturating_mul(int64_t{1} << 62, 2));
  EXPECT_EQ(INT64_MIN, saturating_mul(int64_t{1} << 62, -3));
  EXPECT_EQ(INT64_MAX, saturating_mul(INT64_MIN, -1));
  EXPECT_EQ(0, saturating_mul(INT64_MAX, INT64_MAX, 0));
  EXPECT_EQ(INT64_MAX, saturating_mul(3, INT64_MAX, 2, 5));
  EXPECT_EQ(INT64_MAX, saturating_add(INT64_MAX, 1));
  EXPECT_EQ(INT64_MIN, saturating_add(INT64_MIN, -1));
  EXPECT_EQ(-1, saturating_add(INT64_MIN, INT64_MAX));
}

TEST(Dtype, TableMatchesTheNumbersOfTheAbi) {
  EXPECT_EQ(1, dtype_bytes(INFINI_DTYPE_BOOL));
  EXPECT_EQ(2, dtype_bytes(INFINI_DTYPE_C16));
  EXPECT_EQ(4, dtype_bytes(INFINI_DTYPE_C32));
  EXPECT_EQ(8, dtype_bytes(INFINI_DTYPE_C64));
  EXPECT_EQ(16, dtype_bytes(INFINI_DTYPE_C128));
  EXPECT_EQ(2, dtype_bytes(INFINI_DTYPE_BF16));
  EXPECT_EQ(0, dtype_bytes(INFINI_DTYPE_INVALID));
  EXPECT_EQ(0, dtype_bytes(static_cast<infiniDtype_t>(20)));
  EXPECT_EQ(0, dtype_bytes(static_cast<infiniDtype_t>(-1)));
  for (int i = 1; i < dtype_count; ++i) {
    const auto dtype = static_cast<infiniDtype_t>(i);
    EXPECT_EQ(dtype, dtype_from_name(dtype_name(dtype)));
  }
  EXPECT_EQ(INFINI_DTYPE_INVALID, dtype_from_name("float"));
}

TEST(DeviceKind, NamesGoBothWays) {
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i) {
    const auto kind = static_cast<infiniDevice_t>(i);
    EXPECT_EQ(kind, device_kind_from_name(device_kind_name(kind)));
  }
  EXPECT_FALSE(is_device_kind(INFINI_DEVICE_TYPE_COUNT));
}

struct Head {
  std::atomic<uint32_t> tag;
};

TEST(Cells, RecogniseDestroyedHandles) {
  Cells<Head, std::vector<int>, 77> cells;
  void* handle = cells.create([](Head&) {}, std::vector<int>{1, 2, 3});
  EXPECT_EQ(3u, cells.pin(handle, "h")->size());
  cells.destroy(handle, "h");
  EXPECT_THROW(cells.pin(handle, "h"), Error);
  EXPECT_THROW(cells.destroy(handle, "h"), Error);
  EXPECT_THROW(cells.pin(nullptr, "h"), Error);
}

TEST(Cells, AreReusedAndSafeForManyThreads) {
  Cells<Head, std::vector<int>, 78> cells;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        void* handle = cells.create([](Head&) {}, std::vector<int>(5, i));
        EXPECT_EQ(i, (*cells.pin(handle, "h"))[4]);
        cells.destroy(handle, "h");
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(ThreadCount, IsSettableAndChecked) {
  set_thread_count(3);
  EXPECT_EQ(3, thread_count());
  EXPECT_THROW(set_thread_count(-1), Error);
  EXPECT_THROW(set_thread_count(max_thread_count + 1), Error);
  EXPECT_EQ(3, thread_count());
  set_thread_count(0);
  EXPECT_GE(thread_count(), 1);
}

}  // namespace
}  // namespace infini
