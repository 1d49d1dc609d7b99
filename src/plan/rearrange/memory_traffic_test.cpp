// Memory traffic against counting every line.
#include "plan/rearrange/memory_traffic.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini {
namespace {

RearrangePlan plan_of(const char* text) {
  const auto problem = harness::parse_rearrange(text);
  return make_rearrange_plan(problem.dst, problem.src);
}

struct Expected {
  const char* problem;
  double read, written;
};

TEST(MemoryTraffic, CountsWholeLines) {
  const Expected cases[] = {
      {"rearrange f32 1024x1024 perm=1,0", 4 << 20, 4 << 20},
      {"rearrange f32 1024x1024 src=2048,2", 8 << 20, 4 << 20},  // every second element
      {"rearrange f32 1024x1024 dst=2048,2", (4 << 20) + (8 << 20),
       8 << 20},                                                 // lines written in part
      {"rearrange f32 1024x16 src=64,1", 1024 * 64, 1024 * 64},  // a line of each row
      {"rearrange f32 1024x4 src=64,1", 1024 * 64, 1024 * 16},
      {"rearrange f32 1024x1024 src=0,1", 4096, 4 << 20},
      {"rearrange f32 1024x1024 src=-1024,-1", 4 << 20, 4 << 20},
      {"rearrange f32 1024x16 dst=32,1", 1024 * 64, 1024 * 64},
      {"rearrange f32 1024x12 dst=16,1", 1024 * 48 + 1024 * 64, 1024 * 64},
  };
  for (const auto& [text, read, written] : cases) {
    const MemoryTraffic traffic = memory_traffic(plan_of(text), 64);
    EXPECT_NEAR(read, traffic.read, 64) << text;
    EXPECT_NEAR(written, traffic.written, 64) << text;
  }
}

// Sums that do not fit into 63 bits are estimates, not negative.
TEST(MemoryTraffic, OfTheLargestTensors) {
  for (const char* text : {"rearrange u8 9223372036854775807", "rearrange u64 1152921504606846975",
                           "rearrange u8 3x3074457345618258602 perm=1,0"}) {
    const MemoryTraffic traffic = memory_traffic(plan_of(text), 64);
    EXPECT_GE(traffic.read, 0x1p62) << text;
    EXPECT_GE(traffic.written, 0x1p62) << text;
  }
}

TEST(MemoryTraffic, OfNothingIsNothing) {
  const MemoryTraffic traffic = memory_traffic(plan_of("rearrange f32 0x4"), 64);
  EXPECT_EQ(0, traffic.read);
  EXPECT_EQ(0, traffic.written);
}

int64_t line_at(int64_t byte, int64_t line) {
  return byte < 0 ? (byte + 1) / line - 1 : byte / line;
}

struct Lines {
  std::map<int64_t, int64_t> dst;  // line -> bytes of it that are written
  std::set<int64_t> src;
};

void walk(const RearrangePlan& plan, int level, int64_t dst, int64_t src, int64_t line,
          Lines& lines) {
  if (level < plan.depth) {
    const Loop& loop = plan.loops[level];
    for (int64_t i = 0; i < loop.extent; ++i)
      walk(plan, level + 1, dst + i * loop.dst_step, src + i * loop.src_step, line, lines);
    return;
  }
  for (int64_t byte = 0; byte < plan.atom_bytes; ++byte) {
    ++lines.dst[line_at(dst + byte, line)];
    lines.src.insert(line_at(src + byte, line));
  }
}

TEST(MemoryTraffic, IsNearACountOverRandomLayouts) {
  harness::Random random(11);
  for (int n = 0; n < 300; ++n) {
    const auto problem = harness::random_dense_problem(random, 1 << 14);
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    Lines lines;
    walk(plan, 0, plan.dst_offset, plan.src_offset, 64, lines);
    int64_t partial = 0;
    for (const auto& [line, bytes] : lines.dst) partial += bytes < 64;
    const auto read = static_cast<double>(64 * (static_cast<int64_t>(lines.src.size()) + partial));
    const auto written = static_cast<double>(64 * lines.dst.size());
    const MemoryTraffic traffic = memory_traffic(plan, 64);
    const auto source = static_cast<double>(64 * lines.src.size());
    EXPECT_NEAR(source, source_traffic(plan, 64), 0.1 * source + 256) << harness::to_text(problem);
    EXPECT_NEAR(read, traffic.read, 0.1 * read + 256) << harness::to_text(problem);
    EXPECT_NEAR(written, traffic.written, 128) << harness::to_text(problem);
  }
}

}  // namespace
}  // namespace infini
