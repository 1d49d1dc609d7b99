// Making schedules of buffered tiles.
#include "backends/cpu/rearrange/buffered/schedule.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "backends/cpu/rearrange/cost.h"

namespace infini::cpu {
namespace {

// Runs of at least this many bytes are worth more than the loops that a longer run would cost; more where they end within
// lines, which are written in two parts.
constexpr int64_t enough_row_bytes = 512, enough_ragged_row_bytes = 4096, enough_column_bytes = 256;
// Of each row in a tile; of each column.
constexpr int64_t usual_width = 4 * line_bytes, fewest_lines = 4, most_lines = 8;

bool collect(const RearrangePlan& plan, Sides& sides) {
  Collector collector(plan, sides);
  if (!collector.grow_rows() || !collector.grow_columns()) return false;
  while (sides.row_bytes() < line_bytes && collector.grow_rows()) continue;
  while (sides.column_bytes() < enough_column_bytes && collector.grow_columns()) continue;
  const auto wants_rows = [&] {
    return sides.row_bytes() <
           (sides.row_bytes() % line_bytes == 0 ? enough_row_bytes : enough_ragged_row_bytes);
  };
  while (wants_rows() && collector.grow_rows()) continue;
  collector.leave_rest();
  return true;
}

// The lines of a tile's columns that begin at one offset have a few places in L1, which hold fewer than there are.
bool columns_share_sets(const BufferedSchedule& s) {
  constexpr int64_t few_places = 4;
  return std::all_of(s.columns.begin(), s.columns.end(), [](const Loop& loop) {
    return std::gcd(loop.dst_step, way_bytes) >= way_bytes / few_places;
  });
}

// As square as the buffer allows: both sides want lines that follow each other. Columns that compete for one set want them
// most; where none do, dst's lines are better at home in L1, too, of which the buffer then leaves half.
void choose_tile(BufferedSchedule& s, int64_t most_bytes) {
  const bool competing = columns_share_sets(s);
  const int64_t rows_of_line = line_bytes / s.word, fewest = competing ? most_lines : fewest_lines,
                buffer_bytes = competing ? most_bytes : most_bytes / 2;
  int64_t width = std::max(usual_width, line_bytes),
          lines = std::max<int64_t>(buffer_bytes / (width * rows_of_line), 1);
  for (; lines < fewest && width > line_bytes; width /= 2) lines *= 2;
  for (; lines > most_lines; width *= 2) lines /= 2;
  s.strip = even_part(s.column_count, width / s.word, rows_of_line);
  s.lines = std::min(lines, ceil_div(s.row_bytes(), line_bytes));
}

}  // namespace

std::optional<BufferedSchedule> make_buffered_schedule(const RearrangePlan& plan,
                                                       const Policy& policy) {
  if (!is_word(plan.atom_bytes) || plan.depth < 2) return std::nullopt;
  BufferedSchedule schedule;
  if (!collect(plan, schedule)) return std::nullopt;
  schedule.streamed = columns_beyond_caches(plan, policy) && schedule.aligned() &&
                      schedule.row_bytes() % line_bytes == 0;
  choose_tile(schedule, policy.buffer_bytes);
  return schedule;
}

std::string to_string(const BufferedSchedule& schedule) {
  std::ostringstream text;
  print_sides(text, schedule);
  text << schedule.tiles() << " tiles of " << schedule.tile_rows() << " rows x " << schedule.strip
       << " columns of " << schedule.word << " bytes, "
       << (schedule.streamed ? "streamed" : "cached")
       << (schedule.aligned() ? ", whole lines" : "");
  return text.str();
}

}  // namespace infini::cpu
