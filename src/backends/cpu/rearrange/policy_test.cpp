// What schedules decide by policies, and which policy follows from a machine.
#include <gtest/gtest.h>

#include "backends/cpu/machine/machine.h"
#include "backends/cpu/rearrange/blocks/program.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/runs/schedule.h"
#include "backends/cpu/rearrange/tiles/schedule.h"
#include "harness/rearrange/problem.h"

namespace infini::cpu {
namespace {

int depth_of(const char* text, const Policy& policy) {
  const auto problem = harness::parse_rearrange(text);
  return make_tile_schedule(make_rearrange_plan(problem.dst, problem.src), policy)->depth;
}

TEST(RearrangeSchedule, PairsOfLinesWhereTheyAreWorthIt) {
  Policy policy{2, 1 << 18, 1 << 20};
  EXPECT_EQ(1, depth_of("rearrange f32 8192x8192 perm=1,0", policy));
  EXPECT_EQ(2, depth_of("rearrange f32 384x384x384 perm=0,2,1", policy));  // short strips
  EXPECT_EQ(2,
            depth_of("rearrange f32 1024x8000 perm=1,0", policy));  // rows that begin within pages
  EXPECT_EQ(1, depth_of("rearrange f32 20x384x384 perm=0,2,1", policy));   // in the cache
  EXPECT_EQ(2, depth_of("rearrange f32 384x385x400 perm=0,2,1", policy));  // skewed
  EXPECT_EQ(
      1, depth_of("rearrange f32 384x400x385 perm=0,2,1", policy));  // rows that are no whole lines
  EXPECT_EQ(2, depth_of("rearrange f16 8192x8192 perm=1,0", policy));
  EXPECT_EQ(1, depth_of("rearrange u8 8192x8192 perm=1,0", policy));
  policy.pairs = true;
  EXPECT_EQ(2, depth_of("rearrange u8 8192x8192 perm=1,0", policy));
  EXPECT_EQ(2, depth_of("rearrange f32 8192x8192 perm=1,0", policy));
  // Columns side by side: rows may be many unless they compete.
  EXPECT_EQ(2, depth_of("rearrange f32 64x1000000 perm=1,0", policy));
  EXPECT_EQ(1, depth_of("rearrange f32 64x1048576 perm=1,0", policy));
  // Whole lines from the first size on that is streamed, others where they come from memory.
  EXPECT_EQ(2, depth_of("rearrange f32 1024x1024 perm=1,0", policy));
  EXPECT_EQ(1, depth_of("rearrange f32 2001x2001 perm=1,0", policy));
  EXPECT_EQ(1, depth_of("rearrange f32 1276x4688 perm=1,0", policy));
  EXPECT_EQ(2, depth_of("rearrange f32 8191x8193 perm=1,0", policy));
  EXPECT_EQ(1, depth_of("rearrange u8 16001x16001 perm=1,0", policy));
}

TEST(RearrangeSchedule, BlocksOfEveryTransposition) {
  const auto can = [](const std::string& text) {
    const auto problem = harness::parse_rearrange("rearrange " + text);
    return make_block_schedule(make_rearrange_plan(problem.dst, problem.src)).has_value();
  };
  for (const char* text : {"f32 520x22x1338 perm=0,2,1", "u8 14x4x13611x4x10 perm=4,2,1,3,0",
                           "f16 8x6x512275 src=14,1,112", "u8 7000x10 src=1,7000",
                           "f32 8191x8193 perm=1,0", "f32 100x100 perm=1,0"})
    EXPECT_TRUE(can(text)) << text;
  for (const char* text : {"f32 4096x4096", "f32 64x64 src=64,-1"}) EXPECT_FALSE(can(text)) << text;
}

// Runs that end within lines are taken longer than others.
TEST(RearrangeSchedule, RaggedRunsAreLong) {
  const auto rows_of = [](const char* text) {
    const auto problem = harness::parse_rearrange(text);
    return make_tile_schedule(make_rearrange_plan(problem.dst, problem.src), {2, 1 << 18, 1 << 20})
        ->row_count;
  };
  EXPECT_EQ(3 * 158, rows_of("rearrange f32 26368x3x158 src=1,26368,79104"));
  EXPECT_EQ(160, rows_of("rearrange f32 26368x3x160 src=1,26368,79104"));
}

// Runs that go on in the next block: all of a short dimension, and blocks in dst's order.
TEST(RearrangeSchedule, BlocksFollowEachOtherInDst) {
  const auto problem = harness::parse_rearrange("rearrange f32 520x22x1338 perm=0,2,1");
  const auto blocks = make_block_schedule(make_rearrange_plan(problem.dst, problem.src));
  ASSERT_TRUE(blocks);
  EXPECT_EQ(22, blocks->axes.back().part);
  BlockCursor at(*blocks, 0);
  const int64_t run = make_block_programs(*blocks)[at.shape()].run_bytes;
  EXPECT_EQ(blocks->run, run);
  at.advance();
  EXPECT_EQ(run, at.dst);
}

TEST(RearrangeSchedule, SmallTensorsStartNoThreads) {
  const Policy policy{8, 256 << 10, 1 << 30};
  EXPECT_EQ(1, threads_for(16 << 10, policy));
  EXPECT_EQ(2, threads_for(512 << 10, policy));
  EXPECT_EQ(8, threads_for(1 << 30, policy));
}

// What a thread has in its own cache is written there; a source that is read again and again counts once.
TEST(RearrangeSchedule, OutputsBeyondTheCachesOfTheirThreads) {
  const auto beyond = [](const char* text, int threads, int64_t streamed_bytes = 512 << 10) {
    const auto problem = harness::parse_rearrange(text);
    return beyond_caches(make_rearrange_plan(problem.dst, problem.src),
                         {threads, 256 << 10, streamed_bytes});
  };
  EXPECT_FALSE(beyond("rearrange f32 256x511 perm=1,0", 1));
  EXPECT_TRUE(beyond("rearrange f32 256x512 perm=1,0", 1));
  EXPECT_FALSE(beyond("rearrange f32 256x512 perm=1,0", 4));  // of which two have work
  EXPECT_TRUE(beyond("rearrange f32 1024x1024 perm=1,0", 8));
  EXPECT_FALSE(beyond("rearrange f32 500x512 src=0,1", 1));
  EXPECT_FALSE(
      beyond("rearrange u8 1024x1024x1024 perm=2,1,0", 8, INT64_MAX));  // "never" does not overflow
}

TEST(RearrangeSchedule, PairsOfLinesGoPastTheCachesEarlier) {
  const auto streamed = [](const char* text, int threads, bool pairs) {
    const auto problem = harness::parse_rearrange(text);
    Policy policy{threads, 256 << 10, 1 << 20};
    policy.pairs = pairs;
    return make_tile_schedule(make_rearrange_plan(problem.dst, problem.src), policy)->store ==
           TileSchedule::Store::streamed;
  };
  EXPECT_FALSE(streamed("rearrange f32 512x512 perm=1,0", 2, false));
  EXPECT_TRUE(streamed("rearrange f32 512x512 perm=1,0", 2, true));
  EXPECT_FALSE(streamed("rearrange f32 400x400 perm=1,0", 2, true));
  EXPECT_FALSE(streamed("rearrange f32 1024x1024 perm=1,0", 16, false));
  EXPECT_TRUE(streamed("rearrange f32 1024x1024 perm=1,0", 16, true));
}

TEST(RearrangeSchedule, ThreadsInTheCacheWriteNoLinesOfOthers) {
  const auto strip = [](const char* text, int threads) {
    const auto problem = harness::parse_rearrange(text);
    return make_tile_schedule(make_rearrange_plan(problem.dst, problem.src),
                              {threads, 256 << 10, 512 << 10})
        ->strip;
  };
  EXPECT_EQ(201, strip("rearrange f32 401x401 perm=1,0", 2));
  EXPECT_EQ(401, strip("rearrange f32 401x401 perm=1,0", 1));
  EXPECT_EQ(400, strip("rearrange f32 400x400 perm=1,0", 2));  // whole lines
}

// Past the threads' own caches, where the processor likes prefetches and a panel has few rows; then the lines that it writes in
// part stay in L1.
TEST(RearrangeSchedule, LinesInAFarCacheAreAskedFor) {
  const auto schedule = [](const char* text, const char* machine) {
    const auto problem = harness::parse_rearrange(text);
    return *make_tile_schedule(make_rearrange_plan(problem.dst, problem.src),
                               policy_from(profile(machine), 2));
  };
  const TileSchedule ragged = schedule("rearrange f32 1001x1047 perm=1,0", "zen5"),
                     whole = schedule("rearrange f32 1040x1040 perm=1,0", "zen5");
  EXPECT_TRUE(ragged.asks && whole.asks);
  EXPECT_LE(ragged.strip, 256);
  EXPECT_GT(whole.strip, 256);
  for (const char* text : {"rearrange u8 1999x2111 perm=1,0", "rearrange f16 1401x1503 perm=1,0",
                           "rearrange f32 301x299 perm=1,0", "rearrange f32 4001x4001 perm=1,0"})
    EXPECT_FALSE(schedule(text, "zen5").asks) << text;
  EXPECT_EQ(501, schedule("rearrange f32 1001x1001 perm=1,0", "sapphire_rapids").strip);
}

// A thread takes small tiles whole, if there are enough of them for all.
TEST(RearrangeSchedule, SmallTilesGoWhole) {
  const auto whole = [](const char* text, int threads, int64_t streamed_bytes) {
    const auto problem = harness::parse_rearrange(text);
    return make_tile_schedule(make_rearrange_plan(problem.dst, problem.src),
                              {threads, 1, streamed_bytes})
        ->goes_whole(threads);
  };
  EXPECT_TRUE(whole("rearrange f64 723x8x80 perm=0,2,1", 2, INT64_MAX));
  EXPECT_TRUE(whole("rearrange f64 256x256 perm=1,0", 1, INT64_MAX));
  EXPECT_FALSE(whole("rearrange f64 723x8x80 perm=0,2,1", 2, 0));
  EXPECT_FALSE(whole("rearrange f64 723x8x80 perm=0,2,1", 128, INT64_MAX));
  EXPECT_FALSE(whole("rearrange f64 723x80x257 perm=0,2,1", 2, INT64_MAX));
}

TEST(RearrangePolicy, FollowsFromTheMachine) {
  Machine machine = profile("ice_lake");
  const Policy usual = policy_from(machine, 2);
  EXPECT_EQ(2, usual.threads);
  EXPECT_EQ(256 << 10, usual.bytes_per_thread);
  EXPECT_EQ(640 << 10, usual.streamed_bytes);
  EXPECT_EQ(1024, usual.strip);
  EXPECT_EQ(1024, usual.chunk);
  EXPECT_EQ(20 << 20, usual.memory_bytes);
  EXPECT_FALSE(usual.pairs);
  EXPECT_TRUE(policy_from(profile("sapphire_rapids"), 2).pairs);
  machine.region_ns *= 2;     // dearer regions: more bytes for a thread
  machine.store_pages = 700;  // a smaller TLB: narrower tiles, whole powers of two
  const Policy other = policy_from(machine, 2);
  EXPECT_EQ(2 * usual.bytes_per_thread, other.bytes_per_thread);
  EXPECT_EQ(512, other.strip);
}

// What the last cache holds stays there only where it is faster than memory.
TEST(RearrangePolicy, StreamsPastALastCacheThatIsFast) {
  Machine machine = profile("zen4");
  const Policy fast = policy_from(machine, 2);
  EXPECT_EQ(10 << 20, fast.streamed_bytes);
  EXPECT_EQ(4 << 20, fast.tile_streamed_bytes);
  machine.l3_copy = machine.streamed_copy;
  EXPECT_EQ(512 << 10, policy_from(machine, 2).streamed_bytes);
  EXPECT_EQ(0, policy_from(machine, 2).tile_streamed_bytes);
}

TEST(RearrangePolicy, StaysWithinLimitsForAbsurdMachines) {
  for (const double absurd : {0.0, 1e15}) {
    Machine machine = profile("generic");
    for (const Fact& fact : facts()) {
      if (fact.number != nullptr)
        machine.*fact.number = absurd;
      else
        machine.*fact.rate = {absurd, absurd};
    }
    const Policy policy = policy_from(machine, 1);
    EXPECT_GE(policy.bytes_per_thread, 32 << 10);
    EXPECT_LE(policy.bytes_per_thread, 1 << 20);
    EXPECT_GE(policy.strip, 256);
    EXPECT_LE(policy.strip, max_strip);
    EXPECT_LE(policy.chunk, max_chunk);
  }
}

// Rows of any number are read straight where the hardware follows them, but for those that L1 cannot hold together.
TEST(RearrangeSchedule, ReadsFollowedRowsStraight) {
  const auto schedule_of = [](const char* text) {
    const auto problem = harness::parse_rearrange(text);
    return *make_tile_schedule(make_rearrange_plan(problem.dst, problem.src),
                               policy_from(profile("zen4"), 2));
  };
  EXPECT_FALSE(schedule_of("rearrange u8 8256x8256 perm=1,0").staged);
  EXPECT_TRUE(schedule_of("rearrange u8 8192x8192 perm=1,0").staged);
  EXPECT_EQ(1, schedule_of("rearrange f32 8224x8224 perm=1,0").depth);
  EXPECT_EQ(2, schedule_of("rearrange f16 8192x8192 perm=1,0").depth);
  EXPECT_TRUE(schedule_of("rearrange f32 8224x8224 perm=1,0").fetches_all);
}

// Where pairs are transposed faster than single lines they are taken however many rows are followed.
TEST(RearrangeSchedule, TakesPairsWhereTheyAreFaster) {
  const auto problem = harness::parse_rearrange("rearrange f32 8192x8192 perm=1,0");
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  EXPECT_EQ(1, make_tile_schedule(plan, policy_from(profile("zen4"), 2))->depth);
  EXPECT_EQ(2, make_tile_schedule(plan, policy_from(profile("zen5"), 2))->depth);
}

TEST(RearrangeSchedule, TextsNameTheDecisions) {
  const auto problem = harness::parse_rearrange("rearrange f32 64x96 perm=1,0");
  const auto schedule =
      make_tile_schedule(make_rearrange_plan(problem.dst, problem.src), {1, 1 << 20, 1 << 20});
  ASSERT_TRUE(schedule);
  EXPECT_EQ(
      "outer   none\nrows    64(dst 4, src 384)\ncolumns 96(dst 256, src 4)\n"
      "1 tasks of 64 rows x 96 columns of 4 bytes, cached, whole lines",
      to_string(*schedule));
}

// Small problems reach what only large ones do, until it ends; the inner one of two counts.
TEST(RearrangeSchedule, ForcedPolicyIsTheCurrentOne) {
  const auto problem = harness::parse_rearrange("rearrange f32 160x64 perm=1,0");
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  const auto streams = [&] {
    return make_tile_schedule(plan, current_policy())->store == TileSchedule::Store::streamed;
  };
  EXPECT_FALSE(streams());
  {
    const ForcedPolicy low({.streamed_bytes = 1024});
    EXPECT_TRUE(streams());
    {
      const ForcedPolicy high({.streamed_bytes = 1 << 20});
      EXPECT_FALSE(streams());
    }
    EXPECT_TRUE(streams());
  }
  EXPECT_FALSE(streams());
}

}  // namespace
}  // namespace infini::cpu
