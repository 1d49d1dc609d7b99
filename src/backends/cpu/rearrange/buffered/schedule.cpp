// Making schedules of buffered tiles.
#include "backends/cpu/rearrange/buffered/schedule.h"

#include <algorithm>
#include <sstream>

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

// As square as the buffer allows: both sides want lines that follow each other.
void choose_tile(BufferedSchedule& s, int64_t buffer_bytes) {
  const int64_t rows_of_line = line_bytes / s.word;
  int64_t width = std::max(usual_width, line_bytes),
          lines = std::max<int64_t>(buffer_bytes / (width * rows_of_line), 1);
  for (; lines < fewest_lines && width > line_bytes; width /= 2) lines *= 2;
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
