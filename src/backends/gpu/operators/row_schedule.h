// How rows of norms and softmax are dealt out to threads, as plain data: a group of neighbouring threads has a row.
//
// Seen by device compilers: C++17, and constexpr so that host and device share the code.
#pragma once

#include <cstdint>

namespace infini::gpu {

constexpr int row_block_threads = 256;  // of a block
// Packs of a thread, in registers; and of long rows, by the first of the kernels with more of them that holds the row: the
// fewer registers, the more rows are on their way.
constexpr int held_packs = 4;
constexpr int long_held_packs[] = {8, 12, 16};
constexpr int long_kernels = 3;

// Law: groups are as large as a power of two, at most a block. Where a row is held, its group's threads have all its packs,
// pack p the thread p % group: it comes from memory once. Else the group is a block, which reads its row more than once.
struct RowSchedule {
  uint32_t group = row_block_threads;
  bool held = false;
  uint32_t blocks = 0;

  constexpr uint32_t rows_per_block() const { return row_block_threads / group; }
};

// For rows of `packs` packs (what is loaded at once), of which a thread may hold so many; 0: none. A group has no fewer
// threads than make a line of memory together.
constexpr RowSchedule make_row_schedule(uint32_t rows, uint32_t packs, uint32_t may_hold) {
  constexpr uint32_t least = 8;
  RowSchedule schedule;
  schedule.held = packs <= row_block_threads * may_hold;
  if (schedule.held) {
    schedule.group = least;
    while (schedule.group * may_hold < packs) schedule.group *= 2;
  }
  schedule.blocks = rows / schedule.rows_per_block() + (rows % schedule.rows_per_block() != 0);
  return schedule;
}

}  // namespace infini::gpu
