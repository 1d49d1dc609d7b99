// Blocks: how layouts are walked whose lines on the two sides share no two long dimensions.
//
// A block is a box of the plan's points, small enough for the cache, whose bytes form long runs both in dst and
// in src. It is put together in a buffer in dst's order and leaves it run by run in whole lines. Its run in
// dst and its run in src may have dimensions in common, which a tile of rows and columns may not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/rearrange/schedule.h"
#include "base/checked.h"

namespace infini::cpu {

struct BlockSchedule {
  struct Axis {
    Loop loop;
    int64_t part = 1;  // iterations in one block; the last block may have fewer
    int64_t parts() const { return ceil_div(loop.extent, part); }
    bool is_split() const { return part < loop.extent; }
  };
  int64_t word = 0;  // bytes of an element, any number
  int64_t dst_offset = 0, src_offset = 0;
  std::vector<Axis> axes;  // in the order of the blocks, outermost first
  int64_t run = 0;         // bytes of a whole block that are contiguous in dst
  int64_t block_count = 1;
};

// At most: two blocks and the lines that are read for a third one share L1 (32 KB: a tenth to a third slower).
constexpr int64_t block_bytes = 16 << 10;
constexpr int64_t buffer_bytes = 64 << 10;  // a block and what lies between its runs

// Parts of src that lie no farther apart share their lines: what is between them is read, too.
constexpr int64_t most_gap = 63;

// The distance between the runs of a block in the buffer: each has a line before it, for what the block before
// left of its last line, and they do not compete for the same sets of the cache.
int64_t run_pitch(int64_t run);

// Null when the plan is no transposition.
std::optional<BlockSchedule> make_block_schedule(const RearrangePlan& plan);

// How long it takes.
double blocks_ns(const BlockSchedule& schedule, const RearrangePlan& plan, const Setting& setting);

std::unique_ptr<RearrangeKernel> make_blocks(BlockSchedule schedule, const RearrangePlan& plan,
                                             const Policy& policy);

std::string to_string(const BlockSchedule& schedule);

}  // namespace infini::cpu
