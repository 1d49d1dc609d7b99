// The memory pool: stream order, limits, failures, statistics.
#include "runtime/memory_pool.h"

#include <gtest/gtest.h>

#include "tests/fake_device.h"

namespace infini {
namespace {

int stream_a, stream_b;

struct Pool : testing::Test {
  FakeDevice device;
  MemoryPool pool{device, MemoryPool::Kind::device, {}};
};

TEST(BlockBytes, AreAtMostAnEighthOr63BytesLarger) {
  for (size_t bytes = 1; bytes < 100000; bytes += 7) {
    const size_t block = MemoryPool::block_bytes(bytes);
    EXPECT_GE(block, bytes);
    EXPECT_LE(block, bytes + std::max<size_t>(bytes / 8, 63));
    EXPECT_EQ(MemoryPool::block_bytes(block), block);
  }
  EXPECT_EQ(MemoryPool::block_bytes(SIZE_MAX), SIZE_MAX);
}

TEST_F(Pool, HandsABlockToTheSameStreamAtOnce) {
  void* p = pool.allocate(1000, &stream_a);
  pool.free(p, 1000, &stream_a, false);
  EXPECT_EQ(pool.allocate(1000, &stream_a), p);
  EXPECT_EQ(device.synchronized, 0);
  EXPECT_EQ(pool.stats().reuses, 1u);
  pool.free(p, 1000, &stream_a, false);
}

TEST_F(Pool, DoesNotHandABlockToAnotherStream) {
  void* p = pool.allocate(1000, &stream_a);
  pool.free(p, 1000, &stream_a, false);
  void* q = pool.allocate(1000, &stream_b);
  EXPECT_NE(p, q);
  pool.free(q, 1000, &stream_b, false);
}

TEST_F(Pool, WaitsForTheDeviceBeforeABlockThatOtherStreamsUsed) {
  void* p = pool.allocate(1000, &stream_a);
  pool.free(p, 1000, &stream_a, true);
  EXPECT_EQ(device.synchronized, 0);
  EXPECT_EQ(pool.allocate(1000, &stream_b), p);
  EXPECT_EQ(device.synchronized, 1);
  pool.free(p, 1000, &stream_b, false);
}

TEST_F(Pool, CountsWhatIsInUseAndWhatIsIdle) {
  void* p = pool.allocate(64, nullptr);
  void* q = pool.allocate(128, nullptr);
  pool.free(p, 64, nullptr, false);
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.in_use_bytes, 128u);
  EXPECT_EQ(stats.cached_bytes, 64u);
  EXPECT_EQ(stats.peak_in_use_bytes, 192u);
  EXPECT_EQ(stats.peak_reserved_bytes, 192u);
  EXPECT_EQ(stats.allocations, 2u);
  pool.free(q, 128, nullptr, false);
  EXPECT_EQ(pool.trim(), 192u);
  EXPECT_EQ(pool.stats().releases, 2u);
  EXPECT_EQ(device.live.size(), 0u);
}

TEST_F(Pool, GivesIdleMemoryBackBeforeItSaysThatThereIsNone) {
  void* p = pool.allocate(1024, nullptr);
  pool.free(p, 1024, nullptr, false);
  device.capacity = 2048;
  void* q = pool.allocate(2048, nullptr);
  EXPECT_EQ(device.live.size(), 1u);
  EXPECT_THROW(pool.allocate(64, nullptr), Error);
  EXPECT_EQ(pool.stats().in_use_bytes, 2048u);
  pool.free(q, 2048, nullptr, false);
}

TEST_F(Pool, RefusesWhatIsBeyondItsLimitAndGoesOn) {
  pool.set_limits({4096, SIZE_MAX});
  void* p = pool.allocate(2048, nullptr);
  EXPECT_THROW(pool.allocate(4096, nullptr), Error);
  void* q = pool.allocate(2048, nullptr);
  pool.free(p, 2048, nullptr, false);
  pool.free(q, 2048, nullptr, false);
  pool.free(pool.allocate(4096, nullptr), 4096, nullptr, false);  // the idle ones made room
  EXPECT_EQ(device.live.size(), 1u);
}

TEST_F(Pool, KeepsNoMoreIdleMemoryThanItMay) {
  pool.set_limits({SIZE_MAX, 1024});
  void* p = pool.allocate(1024, nullptr);
  void* q = pool.allocate(1024, nullptr);
  pool.free(p, 1024, nullptr, false);
  pool.free(q, 1024, nullptr, false);
  EXPECT_EQ(pool.stats().cached_bytes, 1024u);
  pool.set_limits({SIZE_MAX, 0});
  EXPECT_EQ(pool.stats().cached_bytes, 0u);
  EXPECT_TRUE(device.live.empty());
}

}  // namespace
}  // namespace infini
