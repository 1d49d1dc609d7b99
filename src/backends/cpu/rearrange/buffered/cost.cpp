// What buffered tiles cost: two vectors each way for every line, and a few shuffles.
#include <algorithm>
#include <bit>

#include "backends/cpu/rearrange/buffered/schedule.h"
#include "backends/cpu/rearrange/cost.h"

namespace infini::cpu {

double buffered_ns(const BufferedSchedule& s, const RearrangePlan& plan, const Setting& setting) {
  const Machine& m = setting.machine;
  const int64_t lanes = lane_bytes / s.word;
  const auto tiles = static_cast<double>(s.tiles());
  Effort effort;
  effort.threads = threads_of(plan, setting.policy, s.tiles());
  effort.streamed = s.streamed;
  effort.moved = lines_of_walk(plan, walk_of_sides(s, s.tile_rows(), s.strip), held_in_l2(m));
  // Vectors of a tile, those that it fills in part with them.
  const double vectors =
      static_cast<double>(ceil_div(s.strip * s.word, line_bytes) * s.tile_rows());
  const auto steps = static_cast<double>(std::bit_width(static_cast<uint64_t>(lanes)) + 1);
  effort.instructions_ns =
      tiles * (task_ns(m) + static_cast<double>(s.tile_rows() + s.strip) * turn_ns(m) +
               vectors * (2 * m.vector_ns + steps * m.exchange_ns));
  return nanoseconds_of(effort, plan, m);
}

}  // namespace infini::cpu
