// What blocks cost: they are put together in L1 and leave it past the caches.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "backends/cpu/rearrange/blocks/program.h"
#include "backends/cpu/rearrange/blocks/schedule.h"
#include "backends/cpu/rearrange/cost.h"

namespace infini::cpu {
namespace {

double as_double(int64_t x) { return static_cast<double>(x); }

// A lane is taken out of a vector and stored.
double store_lane_ns(const Machine& m) { return m.vector_ns + m.shuffle_ns / 4; }

// Elements of a block's panels: columns continue each other in src, rows in dst, each axis on one side, as when a program
// is made.
struct PanelSides {
  int64_t rows = 1, columns = 1;
};
PanelSides sides_of(const BlockSchedule& s) {
  std::vector<BlockSchedule::Axis> left;
  for (const auto& axis : s.axes)
    if (axis.part > 1) left.push_back(axis);
  PanelSides sides;
  const auto grow = [&](int64_t Loop::*step, int64_t& count) {
    const auto found = std::find_if(left.begin(), left.end(), [&](const auto& axis) {
      return std::abs(axis.loop.*step) == count * s.word;
    });
    if (found == left.end()) return false;
    count *= found->part;
    left.erase(found);
    return true;
  };
  grow(&Loop::src_step, sides.columns), grow(&Loop::dst_step, sides.rows);
  while (sides.columns * s.word < line_bytes && grow(&Loop::src_step, sides.columns)) continue;
  while (sides.rows * s.word < line_bytes && grow(&Loop::dst_step, sides.rows)) continue;
  while (grow(&Loop::src_step, sides.columns)) continue;
  return sides;
}

Walk walk_of(const BlockSchedule& s) {
  Walk walk;
  for (size_t i = s.axes.size(); i-- > 0;) walk.add(s.axes[i].loop, s.axes[i].part);
  walk.add_rest();
  return walk;
}

// To put all blocks together: groups of lanes by a line of columns leave the registers 16 bytes at a time.
double put_words_ns(const BlockSchedule& s, double points, const Machine& m) {
  const PanelSides sides = sides_of(s);
  const int64_t lanes = lane_bytes / s.word, columns = sides.columns,
                rows = std::min(sides.rows, panel_rows(s.word)),
                lines = ceil_div(columns * s.word, line_bytes);
  const double panels = points / as_double(columns * rows);
  if (columns * s.word < lane_bytes)  // row by row
    return panels * (2 * task_ns(m) + as_double(rows) * turn_ns(m));
  const double steps = as_double(std::bit_width(static_cast<uint64_t>(lanes)) - 1);
  const double loads = as_double(lanes) * (m.vector_ns / 3 + steps * m.exchange_ns),
               stores = as_double(std::min(columns, line_bytes / s.word)) * store_lane_ns(m);
  return panels * (as_double(ceil_div(rows, lanes) * lines) * (loads + stores) + m.call_ns);
}

// Bytes of lines in which runs begin or end: what is left of a line waits for the block in which its run goes on.
double ends_of_runs(const BlockSchedule& s, const RearrangePlan& plan) {
  const auto& inner = s.axes.back();
  const bool goes_on = inner.loop.dst_step * inner.part == s.run && s.run >= line_bytes;
  const int64_t run = goes_on ? s.run / inner.part * inner.loop.extent : s.run;
  if (run % line_bytes == 0) return 0;
  return as_double(moved_bytes(plan)) / as_double(run) * line_bytes;
}

}  // namespace

double blocks_ns(const BlockSchedule& s, const RearrangePlan& plan, const Setting& setting) {
  const Machine& m = setting.machine;
  const double atoms = as_double(atom_count(plan)),
               lines = as_double(moved_bytes(plan)) / line_bytes;
  Effort effort;
  effort.threads = threads_of(plan, setting.policy, s.block_count);
  effort.streamed = true;
  effort.moved = lines_of_walk(plan, walk_of(s), held_in_l2(m));
  effort.moved.parts = ends_of_runs(s, plan);
  const double put = is_word(s.word) ? put_words_ns(s, atoms, m) : atoms * turn_ns(m);
  // Lines leave the buffer while others come: a vector each way.
  effort.instructions_ns =
      as_double(s.block_count) * 4 * task_ns(m) + put + 2 * lines * m.vector_ns;
  return nanoseconds_of(effort, plan, m);
}

}  // namespace infini::cpu
