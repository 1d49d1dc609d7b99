// Making the schedule of any plan.
#include "backends/cpu/rearrange/nest/schedule.h"

#include <algorithm>
#include <sstream>

namespace infini::cpu {
namespace {

// The loop with the smallest step in src (broadcasts last), the innermost of equals.
std::vector<Loop>::iterator nearest_in_src(std::vector<Loop>& loops) {
  auto nearest = loops.end();
  for (auto loop = loops.begin(); loop != loops.end(); ++loop) {
    const bool nearer =
        nearest == loops.end() || nearest->src_step == 0 ||
        (loop->src_step != 0 && magnitude(loop->src_step) <= magnitude(nearest->src_step));
    if (nearer) nearest = loop;
  }
  return nearest;
}

}  // namespace

NestSchedule make_nest_schedule(const RearrangePlan& plan) {
  NestSchedule schedule;
  schedule.atom_bytes = plan.atom_bytes;
  schedule.dst_offset = plan.dst_offset;
  schedule.src_offset = plan.src_offset;
  schedule.outer.assign(plan.loops, plan.loops + plan.depth);
  if (!schedule.outer.empty()) {
    schedule.fast_dst = schedule.outer.back();
    schedule.outer.pop_back();
  }
  if (const auto nearest = nearest_in_src(schedule.outer); nearest != schedule.outer.end()) {
    schedule.fast_src = *nearest;
    schedule.outer.erase(nearest);
  }
  for (const Loop& loop : schedule.outer) schedule.outer_count *= loop.extent;
  // A block of atoms of both loops fits into a quarter of L1.
  schedule.block = std::clamp<int64_t>(line_bytes * 2 / plan.atom_bytes, 8, 64);
  return schedule;
}

std::string to_string(const NestSchedule& schedule) {
  std::ostringstream text;
  print_loops(text, "outer   ", schedule.outer);
  print_loops(text, "fast dst", {schedule.fast_dst});
  print_loops(text, "fast src", {schedule.fast_src});
  text << schedule.tasks() << " tasks in blocks of " << schedule.block << " atoms of "
       << schedule.atom_bytes << " bytes";
  return text.str();
}

}  // namespace infini::cpu
