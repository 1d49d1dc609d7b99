// The walk that takes any plan.
#pragma once

#include <string>
#include <vector>

#include "backends/cpu/rearrange/schedule.h"

namespace infini::cpu {

// The general walk: two inner loops in blocks (fast in dst, fast in src) around one atom.
struct NestSchedule {
  int64_t atom_bytes = 0, dst_offset = 0, src_offset = 0;
  Loop fast_dst{1, 0, 0}, fast_src{1, 0, 0};
  std::vector<Loop> outer;  // outermost first
  int64_t outer_count = 1;
  int64_t block = 0;  // iterations of each inner loop in one block

  int64_t blocks() const { return ceil_div(fast_src.extent, block); }
  int64_t tasks() const { return outer_count * blocks(); }
};

NestSchedule make_nest_schedule(const RearrangePlan& plan);

std::string to_string(const NestSchedule& schedule);

}  // namespace infini::cpu
