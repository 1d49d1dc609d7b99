// What transposing conversions cost: those of the lines, and tiles of y's elements from L1.
#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/cpu/convert/tiles/schedule.h"
#include "backends/cpu/rearrange/tiles/reader.h"

namespace infini::cpu {

double convert_tiles_ns(const ConvertTiles& schedule, const OperatorPlan& plan,
                        const Setting& setting) {
  constexpr auto group = static_cast<int64_t>(2 * line_bytes / sizeof(float));
  const Machine& m = setting.machine;
  const TileSchedule& s = schedule.tiles;
  const int64_t lanes = lane_bytes / s.word, unit = line_bytes / s.word;
  const auto panels = static_cast<double>(s.outer_count * s.strips() * ceil_div(s.row_count, unit));
  // Blocks of lanes, those at the edges as whole ones: rows and columns that a panel has no elements of take their time, too.
  const double blocks =
      panels * static_cast<double>(ceil_div(std::min(s.strip, s.column_count), lanes));
  const auto steps = static_cast<double>(std::bit_width(static_cast<uint64_t>(lanes)) - 1);
  const double block = static_cast<double>(lanes) * (2 * m.vector_ns + steps * m.exchange_ns);
  const auto rows = static_cast<double>(std::min(unit, s.row_count)),
             columns = static_cast<double>(std::min(s.strip, s.column_count));
  const double parts = panels * std::ceil(columns / static_cast<double>(read_columns(s.word)));
  // Rows of a part are converted one after another; by way of f64 each by calls of its own, as is what is left of them beside
  // whole groups of vectors.
  const auto in_f64 = [&](int operand) { return is_wide(format_in(plan, operand)); };
  const bool calls_each = in_f64(0) || in_f64(1), rest = s.column_count % group != 0;
  const double row_calls = calls_each ? parts * rows * task_ns(m)
                           : rest     ? 2 * panels * rows * task_ns(m)
                                      : 0;
  // Columns of less than a line are written by masks.
  const double masked = s.row_bytes() < line_bytes
                            ? static_cast<double>(s.outer_count * s.column_count) * task_ns(m)
                            : 0;
  const double calls = parts * (2 * task_ns(m) + rows * turn_ns(m)) + row_calls + masked;
  const bool streamed = s.store == TileSchedule::Store::streamed;
  const double cut =
      streamed && !s.aligned()
          ? static_cast<double>(s.outer_count * s.column_count * s.chunks()) * line_bytes
          : 0;
  return convert_ns(plan, setting, calls + blocks * block + line_ns(plan, m), cut, streamed);
}

}  // namespace infini::cpu
