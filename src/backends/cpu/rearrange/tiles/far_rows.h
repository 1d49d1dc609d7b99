// Asking for rows that are too short for their panels to do so.
#pragma once

#include <algorithm>

#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/tiles/schedule.h"

namespace infini::cpu {

// Of rows so short that a panel has a line or two of each, a whole panel is read before what is asked for with its blocks
// could come: the lines of one that is farther off are asked for.
class FarRows {
 public:
  FarRows(const TileSchedule& schedule, int64_t row, int64_t rows, int64_t unit)
      : cursor_(schedule.rows, std::min(row + asked_ahead, schedule.row_count - 1)),
        left_(rows - asked_ahead),
        unit_(unit) {}
  static bool helps(const Panel& panel, int64_t word) { return panel.columns * word <= line_bytes; }
  // Once with each panel.
  void ask(const char* src, int64_t bytes) {
    const int64_t count = std::min(unit_, left_);
    if (count <= 0) return;
    int64_t offsets[2 * line_bytes];
    cursor_.take(offsets, count);
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(src + offsets[i], 0, 2);
      __builtin_prefetch(src + offsets[i] + bytes - 1, 0, 2);
    }
    left_ -= count;
  }

 private:
  static constexpr int64_t asked_ahead = 128;  // rows: as many lines as are under way at once
  OffsetCursor<&Loop::src_step> cursor_;
  int64_t left_, unit_;
};

}  // namespace infini::cpu
