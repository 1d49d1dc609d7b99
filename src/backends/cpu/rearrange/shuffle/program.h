// From the source offsets of some blocks of dst to the picks that make them.
#pragma once

#include "backends/cpu/rearrange/shuffle/schedule.h"

namespace infini::cpu {

// What a program has to make: blocks that lie block_step bytes apart in dst, whose atoms, all together, come from
// these bytes of src.
struct ShuffleTask {
  int64_t blocks, block_bytes, block_step, atom_bytes;
  std::vector<int64_t> offsets;

  int64_t bytes() const { return blocks * block_step; }
  int64_t gap() const { return block_step - block_bytes; }
};

// Windows are shared by all vectors (fewer lines are split between loads), or each vector has its own (fewer picks
// where rows do not begin with windows): whichever needs fewer.
struct ShuffleCost {
  int depth = 0;
  bool shared = false;
};

// Of more than `most` it is not asked which is better.
ShuffleCost shuffle_cost(const ShuffleTask& task, int width, int most);
ShuffleProgram make_shuffle_program(const ShuffleTask& task, int width, const ShuffleCost& cost);

}  // namespace infini::cpu
