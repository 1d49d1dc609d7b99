// The laws of shuffle programs and schedules: every byte of dst once, from the right byte of src, and no read
// outside of src.
#include "backends/cpu/rearrange/shuffle/schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/shuffle/program.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini::cpu {
namespace {

using Bytes = std::map<int64_t, int64_t>;  // byte of dst -> byte of src

Bytes bytes_of(const RearrangePlan& plan) {
  Bytes bytes;
  const std::vector<Loop> loops(plan.loops, plan.loops + plan.depth);
  NestCursor cursor(loops, 0);
  for (int64_t i = 0; i < atom_count(plan); ++i, cursor.advance())
    for (int64_t byte = 0; byte < plan.atom_bytes; ++byte)
      bytes[plan.dst_offset + cursor.dst + byte] = plan.src_offset + cursor.src + byte;
  return bytes;
}

// What a program makes of its first `count` bytes.
void add_program(const ShuffleProgram& program, int64_t dst, int64_t src, int64_t count,
                 Bytes& bytes) {
  for (int64_t i = 0; i < count; ++i) {
    int taken = 0;
    for (int k = 0; k < program.depth; ++k) {
      const int64_t pick = i / program.width * program.depth + k;
      if ((program.masks[static_cast<size_t>(pick)] >> (i % program.width) & 1) == 0) continue;
      ++taken;
      const uint8_t index = program.indices(pick)[i % program.width];
      EXPECT_LT(index, program.width);
      EXPECT_TRUE(
          bytes.emplace(dst + i, src + program.offsets[static_cast<size_t>(pick)] + index).second);
    }
    const bool in_gap =
        i % (program.bytes / program.blocks) >= program.bytes / program.blocks - program.gap;
    EXPECT_EQ(in_gap ? 0 : 1, taken) << "byte " << i;
    if (program.gap > 0) {
      const uint64_t stored = program.stores[static_cast<size_t>(i / program.width)];
      EXPECT_EQ(taken, static_cast<int>(stored >> (i % program.width) & 1));
    }
  }
}

Bytes bytes_of(const ShuffleSchedule& s) {
  Bytes bytes;
  const Loop& along = s.along;
  for (int64_t task = s.tasks(); task-- > 0;) {
    const NestCursor outer(s.outer, task / s.pieces() / s.strips());
    const int64_t first = task % s.pieces() * s.piece,
                  last = std::min(along.extent, first + s.piece);
    const int64_t strip = task / s.pieces() % s.strips() * s.strip;
    for (int64_t row = strip; row < std::min(s.near.extent, strip + s.strip); ++row)
      for (int64_t block = first; block < last; block += s.program.blocks)
        add_program(
            s.program, s.dst_offset + outer.dst + row * s.near.dst_step + block * along.dst_step,
            s.src_offset + outer.src + row * s.near.src_step + block * along.src_step,
            std::min(s.program.blocks, last - block) * along.dst_step - s.program.gap, bytes);
  }
  return bytes;
}

// Shuffles of 16 bytes have no masks, those of 64 take two windows at once.
void expect_nothing_else(const ShuffleProgram& program, int64_t pick, int i) {
  const auto gives = [&](int64_t other) {
    return (program.masks[static_cast<size_t>(other)] >> i & 1) != 0;
  };
  if (gives(pick)) return;
  const int64_t k = pick % program.depth;
  const bool paired = program.width == 64 && k % 2 == 0 && k + 1 < program.depth && gives(pick + 1);
  EXPECT_EQ(paired ? 64 + program.indices(pick + 1)[i] : 128, program.indices(pick)[i]);
}

// What the kernels rely on.
void expect_limits(const ShuffleSchedule& s) {
  const ShuffleProgram& program = s.program;
  EXPECT_EQ(program.blocks * s.along.dst_step, program.bytes);
  EXPECT_LE(program.bytes, most_period_bytes);
  EXPECT_LE(s.strip, most_strip);
  EXPECT_TRUE(s.piece == s.along.extent || s.piece % program.blocks == 0);
  const auto picks = static_cast<size_t>(program.vectors() * program.depth);
  EXPECT_EQ(picks, program.offsets.size());
  EXPECT_EQ(picks, program.masks.size());
  EXPECT_GE(program.tables.size() * sizeof(ShuffleProgram::Bytes),
            picks * static_cast<size_t>(program.width));
  for (size_t pick = 0; pick < picks; ++pick) {
    EXPECT_GE(program.offsets[pick], program.reach_begin);
    EXPECT_LE(program.offsets[pick] + program.width, program.reach_end);
    for (int i = 0; i < program.width; ++i)
      expect_nothing_else(program, static_cast<int64_t>(pick), i);
  }
}

bool expect_lawful(const harness::RearrangeProblem& problem, int width) {
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  if (plan.atom_bytes == 0) return false;
  auto schedule = make_shuffle_schedule(plan, {2, 1, 0}, width);
  if (!schedule) return false;
  complete_program(*schedule, plan);
  expect_limits(*schedule);
  EXPECT_EQ(bytes_of(plan), bytes_of(*schedule)) << to_string(*schedule);
  EXPECT_FALSE(testing::Test::HasFailure()) << harness::to_text(problem);
  return true;
}

TEST(ShuffleSchedule, EveryByteOnce) {
  harness::Random random(17);
  int taken = 0;
  for (int i = 0; i < 6000; ++i) {
    taken += expect_lawful(harness::random_problem(random, {8, 1200}), i % 2 == 0 ? 64 : 16);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(taken, 1000);
}

TEST(ShuffleSchedule, EveryByteOnceInShapesThatItIsFor) {
  for (const char* text : {"rearrange u8 40x3x10x4 perm=0,1,3,2", "rearrange f16 900x2 src=2,-1",
                           "rearrange f16 50x110 src=110,0", "rearrange f64 20x4x3 src=12,3,0",
                           "rearrange f32 10x2x30x2x4 src=120,0,4,0,1",
                           "rearrange u8 9x2x40x2x3 src=120,0,3,0,1", "rearrange f32 300x7 src=8,1",
                           "rearrange u8 400x9 src=12,1", "rearrange f32 103x25 src=32,1",
                           "rearrange f32 4x309 perm=1,0", "rearrange u8 8x20x32x550 perm=2,1,3,0",
                           "rearrange f16 5x401 perm=1,0", "rearrange f32 256x40x5 perm=1,0,2",
                           "rearrange f16 256x20x30 perm=1,0,2", "rearrange u8 90x31 src=31,-1",
                           "rearrange f32 100x7 dst=8,1", "rearrange u8 50x11 dst=19,1 src=11,-1",
                           "rearrange u8 70x70 src=0,1", "rearrange f32 30x75 src=1,0"})
    for (const int width : {16, 64}) {
      EXPECT_TRUE(expect_lawful(harness::parse_rearrange(text), width) || width == 16) << text;
      ASSERT_FALSE(HasFailure());
    }
}

std::optional<ShuffleSchedule> schedule_of(const char* text) {
  const auto problem = harness::parse_rearrange(text);
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  auto schedule = make_shuffle_schedule(plan, {2, 1 << 18, 1 << 20}, 64);
  if (schedule) complete_program(*schedule, plan);
  return schedule;
}

TEST(ShuffleSchedule, FewWindowsWhereBytesLieTogether) {
  EXPECT_EQ(1, schedule_of("rearrange f32 64x256x2x256x2 src=65536,256,0,1,0")->program.depth);
  EXPECT_EQ(1, schedule_of("rearrange f16 4576388x2 src=2,-1")->program.depth);
  EXPECT_EQ(2, schedule_of("rearrange u8 468x513x3x10x4 perm=0,1,2,4,3")->program.depth);
  EXPECT_EQ(4, schedule_of("rearrange f32 4x3098897 perm=1,0")->program.depth);
  EXPECT_EQ(1, schedule_of("rearrange u8 16666656x3 src=0,1")
                   ->program.depth);  // blocks of 3 bytes are no words
  EXPECT_EQ(2, schedule_of("rearrange f16 6820640x3 src=-3,1")->program.depth);
}

// Windows that reach over the ends of a small src find room there.
TEST(ShuffleSchedule, SmallSourcesAreCopied) {
  for (const char* text : {"rearrange f64 1389252x3 src=0,1", "rearrange f64 120208x51 src=0,1",
                           "rearrange u8 2x6637760x2 src=1,0,-2"}) {
    const auto schedule = schedule_of(text);
    ASSERT_TRUE(schedule) << text;
    EXPECT_GE(schedule->room, schedule->program.reach_end - schedule->program.reach_begin) << text;
  }
  EXPECT_EQ(0, schedule_of("rearrange f16 4576388x2 src=2,-1")->room);
}

// What has no rows of some bytes, or no program that stays in L1, it cannot; whether the rest is worth it, its cost says.
TEST(ShuffleSchedule, DeclinesOnlyWhatItCannot) {
  for (const char* text : {"rearrange f32 4096x4096", "rearrange f64 40x200 src=1000,1"})
    EXPECT_FALSE(schedule_of(text)) << text;
  for (const char* text : {"rearrange f32 8192x8192 src=8192,-1", "rearrange u8 3x10000 perm=1,0",
                           "rearrange f32 464x119x3 src=1,480,0"})
    EXPECT_TRUE(schedule_of(text)) << text;
}

TEST(ShuffleSchedule, TextNamesTheDecisions) {
  EXPECT_EQ(
      "outer none\nalong 4576388(dst 4, src 4)\n"
      "280 tasks of 16384 blocks of 4 bytes, 256 to a period of 16 vectors of 64 bytes from 1 "
      "window each, streamed",
      to_string(*schedule_of("rearrange f16 4576388x2 src=2,-1")));
}

}  // namespace
}  // namespace infini::cpu
