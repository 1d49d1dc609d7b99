// What a block leaves of its last lines is written by the next one only where all of its runs go on there.
#include "backends/cpu/rearrange/blocks/program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/rearrange/problem.h"

namespace infini::cpu {
namespace {

// Of every two blocks that follow each other: how many are joined, and whether each run of the first ends where that of
// the second begins.
int64_t count_joined(const char* text) {
  const harness::RearrangeProblem problem = harness::parse_rearrange(text);
  const auto schedule = make_block_schedule(make_rearrange_plan(problem.dst, problem.src));
  if (!schedule) return -1;
  const auto programs = make_block_programs(*schedule);
  BlockCursor now(*schedule, 0);
  int64_t joined = 0;
  for (int64_t block = 1; block < schedule->block_count; ++block) {
    BlockCursor next = now;
    next.advance();
    const BlockProgram &first = programs[now.shape()], &second = programs[next.shape()];
    if (goes_on(first, now.dst, second, next.dst)) {
      ++joined;
      EXPECT_EQ(first.runs.size(), second.runs.size()) << text << ", block " << block;
      for (size_t i = 0; i < std::min(first.runs.size(), second.runs.size()); ++i) {
        EXPECT_EQ(now.dst + first.runs[i].dst + first.run_bytes, next.dst + second.runs[i].dst)
            << text << ", block " << block;
        EXPECT_EQ(first.runs[i].buffer, second.runs[i].buffer) << text << ", block " << block;
      }
    }
    now = next;
  }
  return joined;
}

TEST(BlockProgram, JoinsBlocksWhoseRunsAllGoOn) {
  // Eight runs of dst in a block, then one whose end is where the eight of the next block begin.
  EXPECT_GT(
      count_joined("rearrange f64 63x4x9x3x2x2 dst=1,6804,756,-252,126,63 src=18,0,2,2268,1134,1"),
      0);
  // The same without a step backwards, and three runs in the last block.
  EXPECT_GT(count_joined(
                "rearrange f64 63x400x11x3x2x2 dst=1,8316,756,252,126,63 src=18,0,2,2268,1134,1"),
            0);
}

}  // namespace
}  // namespace infini::cpu
