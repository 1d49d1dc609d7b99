// Making schedules of buffered tiles.
#include "backends/cpu/rearrange/buffered/schedule.h"

#include <algorithm>
#include <sstream>

#include "backends/cpu/rearrange/cost.h"

namespace infini::cpu {
namespace {

// Runs of at least this many bytes are worth more than the loops that a longer run would cost; more where they end within
// lines, which are written in two parts.
constexpr int64_t enough_row_bytes = 512, enough_ragged_row_bytes = 4096, enough_column_bytes = 256;
// Lines of a column in a tile, and of a row, that are enough where none compete for a set.
constexpr int64_t usual_lines = 4, usual_row_lines = 4, most_lines = 8, most_row_lines = 8;

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

// What is under way to L1 needs a place there: a set holds no more lines than it has ways, and as many are under way as some
// sets hold together. So the lines of a tile have to be in so many sets at least, those that are written and those that are
// read, and those that are read are better in more, where the buffer leaves room.
constexpr int64_t written_sets = 8, read_sets = 4, better_read_sets = 8;

// Of each row or column, if the first lines of all of them lie in so many.
int64_t lines_for(int64_t wanted_sets, int64_t sets) {
  return ceil_div(wanted_sets, std::min(sets, wanted_sets));
}

// At first what both sides need; then what they like, as square as a buffer allows that leaves half of L1 to the lines of the
// two sides, or where they compete for sets a third.
void choose_tile(BufferedSchedule& s, int64_t most_bytes) {
  const int64_t rows_of_line = line_bytes / s.word;
  const int64_t row_sets = sets_in_turn(s.rows, &Loop::src_step, s.row_count),
                column_sets = sets_in_turn(s.columns, &Loop::dst_step, s.column_count);
  int64_t lines = lines_for(written_sets, column_sets), row_lines = lines_for(read_sets, row_sets);
  const auto fits = [&](int64_t l, int64_t r, int64_t bytes) {
    return l * rows_of_line * r * line_bytes <= bytes;
  };
  while (row_lines > 1 && !fits(lines, row_lines, max_buffer)) row_lines /= 2;
  while (row_lines < lines_for(better_read_sets, row_sets) &&
         fits(lines, 2 * row_lines, most_bytes))
    row_lines *= 2;
  const auto grow = [&](int64_t most, int64_t most_of_row) {
    while (2 * lines <= most && fits(2 * lines, row_lines, most_bytes / 2)) lines *= 2;
    while (2 * row_lines <= most_of_row && fits(lines, 2 * row_lines, most_bytes / 2))
      row_lines *= 2;
  };
  grow(usual_lines, usual_row_lines), grow(most_lines, most_row_lines);
  s.strip = even_part(s.column_count, row_lines * rows_of_line, rows_of_line);
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
