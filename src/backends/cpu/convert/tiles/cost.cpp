// What transposing conversions cost: those of the lines, and tiles of y's elements from L1.
#include <algorithm>
#include <bit>

#include "backends/cpu/convert/tiles/schedule.h"

namespace infini::cpu {

double convert_tiles_ns(const ConvertTiles& schedule, const OperatorPlan& plan,
                        const Setting& setting) {
  const Machine& m = setting.machine;
  const TileSchedule& s = schedule.tiles;
  const int64_t lanes = lane_bytes / s.word, unit = line_bytes / s.word;
  const auto panels = static_cast<double>(s.outer_count * s.strips() * ceil_div(s.row_count, unit));
  // Blocks of lanes, those at the edges as whole ones: rows and columns that a panel has no elements of take their time, too.
  const double blocks =
      panels * static_cast<double>(ceil_div(std::min(s.strip, s.column_count), lanes));
  const auto steps = static_cast<double>(std::bit_width(static_cast<uint64_t>(lanes)) - 1);
  const double block = static_cast<double>(lanes) * (2 * m.vector_ns + steps * m.exchange_ns);
  const double row = task_ns(m) + turn_ns(m);
  const double calls =
      panels * (task_ns(m) + static_cast<double>(std::min(unit, s.row_count)) * row);
  const bool streamed = s.store == TileSchedule::Store::streamed;
  const double parts =
      streamed && !s.aligned()
          ? static_cast<double>(s.outer_count * s.column_count * s.chunks()) * line_bytes
          : 0;
  return convert_ns(plan, setting, calls + blocks * block + line_ns(plan, m), parts, streamed);
}

}  // namespace infini::cpu
