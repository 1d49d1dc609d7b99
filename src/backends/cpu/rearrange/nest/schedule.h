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

// The kernel's loop for atoms of this size knows it: one move.
constexpr bool has_constant_move(int64_t bytes) {
  return (bytes <= 4 && bytes != 0) || bytes == 6 || bytes == 8 || bytes == 12 || bytes == 16 ||
         bytes == 24 || bytes == 32 || bytes == 48;
}

NestSchedule make_nest_schedule(const RearrangePlan& plan);

// How long it takes.
double nest_ns(const NestSchedule& schedule, const RearrangePlan& plan, const Setting& setting);

std::unique_ptr<RearrangeKernel> make_nest(NestSchedule schedule, const RearrangePlan& plan,
                                           const Policy& policy);

std::string to_string(const NestSchedule& schedule);

}  // namespace infini::cpu
