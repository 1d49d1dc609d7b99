// What is done in one block, as tables: all blocks of a size do the same.
#pragma once

#include <vector>

#include "backends/cpu/rearrange/blocks/schedule.h"
#include "backends/cpu/rearrange/panels/kernels.h"

namespace infini::cpu {

// Offsets are from the block's first element in src and dst, and from that of its first run in the buffer.
struct BlockProgram {
  struct Panel {
    int64_t src, buffer;
    int rows;
    int64_t first_row;  // its place in src_of_row
    bool reads_on;      // 16 bytes may be read of every row, since they lie in the block
  };
  std::vector<Panel> panels;
  std::vector<int64_t> src_of_row;  // of each panel panel_rows(word) offsets, the last one repeated
  int64_t columns = 1;              // of every panel, contiguous in src
  std::vector<int64_t> buffer_of_column;
  std::vector<int64_t> lines;  // of src, to be fetched before
  std::vector<Outflow::Run> runs;
  int64_t run_bytes = 0;
};

// A line of words, or some atoms that are none.
constexpr int64_t panel_rows(int64_t word) { return is_word(word) ? line_bytes / word : 32; }

// A block: where it is, and which of its axes have fewer iterations than others.
class BlockCursor {
 public:
  BlockCursor(const BlockSchedule& schedule, int64_t start)
      : axes_(schedule.axes.data()), depth_(static_cast<int>(schedule.axes.size())) {
    for (int i = depth_; i-- > 0;) {
      index_[i] = start % axes_[i].parts();
      start /= axes_[i].parts();
      move(i, index_[i]);
    }
  }
  void advance() {
    for (int i = depth_; i-- > 0;) {
      move(i, 1);
      if (++index_[i] < axes_[i].parts()) return;
      move(i, -index_[i]);
      index_[i] = 0;
    }
  }
  // Bit n: the n-th of the axes whose last part is a shorter one has got there.
  unsigned shape() const {
    unsigned bits = 0, bit = 1;
    for (int i = 0; i < depth_; ++i)
      if (axes_[i].loop.extent % axes_[i].part != 0) {
        if (index_[i] + 1 == axes_[i].parts()) bits |= bit;
        bit *= 2;
      }
    return bits;
  }

  int64_t dst = 0, src = 0;

 private:
  void move(int axis, int64_t blocks) {
    dst += blocks * axes_[axis].part * axes_[axis].loop.dst_step;
    src += blocks * axes_[axis].part * axes_[axis].loop.src_step;
  }
  const BlockSchedule::Axis* axes_;
  int depth_;
  int64_t index_[max_rank];
};

// Whether every run of a block at dst is continued by that run of the next block, so that what it leaves of its last line can
// be written with it. A last block may have fewer runs than the one behind it, only the first of which goes on.
bool goes_on(const BlockProgram& program, int64_t dst, const BlockProgram& next, int64_t next_dst);

// One for every value of BlockCursor::shape().
std::vector<BlockProgram> make_block_programs(const BlockSchedule& schedule);

}  // namespace infini::cpu
