// Making tile schedules.
#include "backends/cpu/rearrange/tiles/schedule.h"

#include <algorithm>
#include <sstream>

#include "backends/cpu/rearrange/panels/kernels.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

// Runs of at least this many bytes are worth more than the loops that a longer run would cost.
constexpr int64_t enough_column_bytes = 1024, enough_row_bytes = 512;
constexpr int64_t enough_ragged_row_bytes =
    4096;  // of runs that end within lines, which are written in two parts
constexpr int64_t short_column_bytes = 256, short_row_bytes = 256;
constexpr int64_t page_bytes = 4096, small_bytes = 24 << 10;
// Rows so far apart, or multiples of it, compete for the same sets of L2, which has few more than 16 ways.
constexpr int64_t competing_step = 64 << 10, competing_rows = 32;

// In the cache a tile is better small on both sides, best of all one loop by one loop: in L1 even where
// its rows of src are single lines.
bool collect(const RearrangePlan& plan, TileSchedule& schedule, bool cached) {
  const int64_t bytes = moved_bytes(plan), word = plan.atom_bytes;
  Collector collector(plan, schedule);
  if (!collector.grow_rows() || !collector.grow_columns()) return false;
  const bool simple =
      cached && schedule.row_count * word >= line_bytes &&
      schedule.column_count * word >= (bytes <= small_bytes ? line_bytes : short_column_bytes);
  const int64_t enough_rows = simple ? 0 : cached ? short_row_bytes : enough_row_bytes;
  const int64_t enough_columns = simple ? 0 : cached ? short_column_bytes : enough_column_bytes;
  while (schedule.row_count * word < line_bytes && collector.grow_rows()) continue;
  while (schedule.column_count * word < short_column_bytes && collector.grow_columns()) continue;
  const auto wants_rows = [&] {
    const int64_t run = schedule.row_count * word;
    return run < (cached || run % line_bytes == 0 ? enough_rows : enough_ragged_row_bytes);
  };
  while (wants_rows() && collector.grow_rows()) continue;
  while (schedule.column_count * word < enough_columns && collector.grow_columns()) continue;
  collector.leave_rest();
  return true;
}

TileSchedule::Store choose_store(const TileSchedule& schedule, bool cached) {
  using Store = TileSchedule::Store;
  const int64_t run = schedule.row_count * schedule.word;
  if (cached) return Store::cached;
  if (schedule.aligned() && run % line_bytes == 0) return Store::streamed;
  // Short runs would be mostly ends, and of some columns no whole lines can be put together.
  return run >= enough_row_bytes && schedule.can_skew() ? Store::streamed : Store::cached;
}

// More than the threads' own caches hold, in strips that are better asked for than left to the hardware, and few rows: of
// small words as many as a line has of them are followed in long pieces only.
bool wants_prefetches(int64_t bytes, int64_t word, int threads, const Policy& policy) {
  constexpr int64_t few_rows = 16;
  return 2 * bytes > threads * policy.near_bytes &&
         policy.strip * word <= policy.prefetched_strip && line_bytes / word <= few_rows;
}

// Columns of a strip: as many dst pages as the TLB can hold. In the cache, threads that write to the same lines wait for
// each other at every one of them: where panels begin within lines, each takes columns of its own. And where lines are asked
// for, those that a panel leaves in part should be in L1 when the next one comes to them.
int64_t choose_strip(const TileSchedule& schedule, int threads, const Policy& policy) {
  const bool cached = schedule.store == TileSchedule::Store::cached;
  const bool in_parts = cached && !schedule.aligned();
  int64_t limit = policy.strip;
  if (in_parts && threads > 1 && schedule.outer_count == 1)
    limit = std::min(limit, ceil_div(schedule.column_count, threads));
  if (in_parts && schedule.asks) limit = std::min(limit, policy.buffer_bytes / 2 / line_bytes);
  // Tiles are two lines wide, of small words four.
  const int64_t lines = cached ? 1 : schedule.word < 4 ? 4 : 2;
  return even_part(schedule.column_count, limit, lines * line_bytes / schedule.word);
}

// The hardware fetches ahead up to the end of a page: in some strips that is never too far.
bool ends_with_pages(const TileSchedule& schedule) {
  const auto in_pages = [](const Loop& loop) { return loop.src_step % page_bytes == 0; };
  return schedule.strip * schedule.word % page_bytes == 0 &&
         std::all_of(schedule.rows.begin(), schedule.rows.end(), in_pages);
}

// What is fetched beyond the end of a strip should still be in the cache when the next strip is walked: then
// a task has no more than the policy's chunk of rows.
bool leaves_lines_behind(const TileSchedule& schedule) {
  return schedule.store == TileSchedule::Store::streamed && schedule.strips() > 1 &&
         !ends_with_pages(schedule);
}

// All rows that may be.
int64_t choose_chunk(const TileSchedule& schedule, const Policy& policy) {
  const int64_t limit = leaves_lines_behind(schedule) ? policy.chunk : schedule.row_count;
  return even_part(schedule.row_count, limit, schedule.panel_rows());
}

bool compete(const Loop& rows) { return rows.src_step % competing_step == 0; }

// All lines of a column of src have one place in L1, whose sets hold fewer than a panel has rows.
bool share_a_set(const TileSchedule& schedule) {
  const auto in_pages = [](const Loop& loop) { return loop.src_step % page_bytes == 0; };
  return std::all_of(schedule.rows.begin(), schedule.rows.end(), in_pages);
}

// Past the cache rows are read straight where the hardware follows so many, and where they stay in L1 as long as their
// lines are used.
bool choose_staged(const TileSchedule& schedule, const Policy& policy) {
  const int64_t rows = line_bytes / schedule.word;
  return rows > policy.followed_rows || (schedule.word < 4 && share_a_set(schedule));
}

// Pairs of lines ask for twice as many rows at once, which go through tiles in L1: worth it where the
// hardware does not follow the rows well anyway, or where it stores pairs faster.
int choose_depth(const TileSchedule& schedule, int64_t bytes, const Policy& policy) {
  const int64_t word = schedule.word;
  if (schedule.store != TileSchedule::Store::streamed) return 1;
  if (schedule.row_count * word < 2 * line_bytes) return 1;
  if (schedule.strip * word < paired_width(static_cast<int>(word))) return 1;
  const auto in_lines = [](const Loop& loop) { return loop.src_step % line_bytes == 0; };
  const bool whole = std::all_of(schedule.rows.begin(), schedule.rows.end(), in_lines);
  if (!policy.pairs && policy.followed_rows >= line_bytes) {
    // Rows of any number are read straight, which takes less than a way through L1: that is for those that do not stay
    // there, and then for as many as make pairs.
    constexpr int64_t few_rows = 8, most_rows = 32;
    const int64_t rows = line_bytes / word;
    return share_a_set(schedule) && (rows <= few_rows || (schedule.staged && rows <= most_rows))
               ? 2
               : 1;
  }
  if (!policy.pairs) {
    if (!whole || bytes < policy.memory_bytes) return 1;
    // Of 2-byte words the hardware does not even follow the 32 rows of one line, of bytes 128 are too many.
    return word == 2 || (word > 2 && !ends_with_pages(schedule)) ? 2 : 1;
  }
  // Rows and columns that begin within lines take longer through tiles than single lines take to be stored, unless they
  // come from memory.
  if (!whole || !schedule.aligned()) return word > 1 && bytes / 4 >= policy.memory_bytes ? 2 : 1;
  // Columns that share pages are stored fast enough, and competing rows are better few.
  const bool near = magnitude(schedule.columns.front().dst_step) < page_bytes;
  return near && compete(schedule.rows.front()) ? 1 : 2;
}

}  // namespace

std::optional<TileSchedule> make_tile_schedule(const RearrangePlan& plan, const Policy& policy) {
  if (!is_word(plan.atom_bytes) || plan.depth < 2) return std::nullopt;
  TileSchedule schedule;
  const int64_t bytes = moved_bytes(plan);
  const int threads = threads_for(bytes, policy);
  const bool cached = !columns_beyond_caches(plan, policy);
  if (!collect(plan, schedule, cached)) return std::nullopt;
  schedule.store = choose_store(schedule, cached);
  schedule.asks = cached && wants_prefetches(bytes, plan.atom_bytes, threads, policy);
  schedule.strip = choose_strip(schedule, threads, policy);
  schedule.staged = choose_staged(schedule, policy);
  schedule.depth = choose_depth(schedule, bytes, policy);
  schedule.fetches_all = schedule.strip * schedule.word <= policy.prefetched_strip;
  schedule.soon =
      policy.pairs && compete(schedule.rows.front()) && schedule.panel_rows() >= competing_rows;
  schedule.chunk = choose_chunk(schedule, policy);
  return schedule;
}

std::string to_string(const TileSchedule& schedule) {
  std::ostringstream text;
  const char* stores[] = {"cached", "streamed"};
  print_sides(text, schedule);
  text << schedule.tasks() << " tasks of " << schedule.chunk << " rows x " << schedule.strip
       << " columns of " << schedule.word << " bytes, " << stores[static_cast<int>(schedule.store)]
       << (schedule.aligned() ? ", whole lines" : "") << (schedule.depth == 2 ? ", in pairs" : "");
  return text.str();
}

}  // namespace infini::cpu
