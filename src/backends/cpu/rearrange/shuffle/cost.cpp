// What shuffles cost: a window for every pick, and rows that begin and end within vectors.
#include <algorithm>

#include "backends/cpu/rearrange/cost.h"
#include "backends/cpu/rearrange/shuffle/schedule.h"

namespace infini::cpu {
namespace {

Walk walk_of(const ShuffleSchedule& s, const RearrangePlan& plan) {
  Walk walk;
  for (int i = plan.depth; i-- > s.level + 1;) walk.add(plan.loops[i]);
  walk.add(s.along, s.side_by_side ? s.program.blocks : s.piece).add(s.near, s.strip).add_rest();
  walk.add_outer(s.outer);
  return walk;
}

// Windows for a vector of what comes from memory that L1 does not have: those of blocks that lie apart, and all of them
// where blocks are put together from more lines of one set than it holds.
double misses_of_vector(const ShuffleSchedule& s, const RearrangePlan& plan, const Machine& m) {
  constexpr int64_t least_apart = way_bytes / 2;
  if (!s.streamed) return 0;
  int64_t in_set = 1;
  for (int i = s.level + 1; i < plan.depth; ++i)
    if (plan.loops[i].src_step % way_bytes == 0) in_set *= plan.loops[i].extent;
  if (static_cast<double>(in_set * way_bytes) > m.l1_bytes) return s.program.depth;
  if (magnitude(s.along.src_step) < least_apart) return 0;
  return std::min<double>(s.program.depth, static_cast<double>(s.program.width) /
                                               static_cast<double>(s.along.dst_step));
}

// The share of rows whose windows reach over the ends of src: those are made byte by byte.
double careful_share(const ShuffleSchedule& s) {
  if (s.overreach == 0) return 0;
  int64_t apart = 0;  // the first and the last row
  for (const Loop& loop : s.outer) apart += (loop.extent - 1) * magnitude(loop.src_step);
  apart += (s.near.extent - 1) * magnitude(s.near.src_step);
  const int64_t along = s.along.extent * magnitude(s.along.src_step);
  return std::min(1.0, static_cast<double>(s.overreach) /
                           static_cast<double>(std::max<int64_t>(apart + along, 1)));
}

}  // namespace

double least_shuffle_time(const RearrangePlan& plan, const Setting& setting, int width) {
  const Machine& m = setting.machine;
  const auto vectors = static_cast<double>(moved_bytes(plan) / width);
  const double vector = m.vector_ns + least_windows(plan, width) * m.pick_ns;
  return vectors * vector / threads_for(moved_bytes(plan), setting.policy);
}

double shuffle_ns(const ShuffleSchedule& s, const RearrangePlan& plan, const Setting& setting) {
  const Machine& m = setting.machine;
  const ShuffleProgram& p = s.program;
  const auto rows = static_cast<double>(s.outer_count * s.near.extent),
             periods = rows * static_cast<double>(ceil_div(s.along.extent, p.blocks));
  const bool whole = p.bytes % p.width == 0 || p.gap > 0;
  const double vector = m.vector_ns + p.depth * m.pick_ns + (whole ? 0 : m.vector_ns) +
                        misses_of_vector(s, plan, m) * m.call_ns;
  const double careful = careful_share(s) * p.depth * p.width * m.element_ns / 2;
  Effort effort;
  effort.threads = threads_of(plan, setting.policy, s.tasks());
  effort.streamed = s.streamed;
  effort.moved = lines_of_walk(plan, walk_of(s, plan), held_in_l2(m));
  effort.instructions_ns =
      rows * static_cast<double>(s.pieces()) * 2 * task_ns(m) +
      periods * (turn_ns(m) + static_cast<double>(p.vectors()) * (vector + careful));
  return nanoseconds_of(effort, plan, m);
}

}  // namespace infini::cpu
