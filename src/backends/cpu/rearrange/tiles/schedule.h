// Transpositions by tiles: panels of rows along strips of columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/rearrange/schedule.h"

namespace infini::cpu {

// Two groups of loops are walked together: `rows` are contiguous in dst, `columns` in src. A panel of
// 64 / word rows (one line of dst; two with a depth of 2) is walked along a strip of columns, so that src
// is read in a few long ascending streams; then the next panel, so that every column's run in dst grows;
// after a chunk of rows the next strip.
struct TileSchedule {
  enum class Store { cached, streamed };  // how the lines reach dst

  int64_t word = 0;  // bytes of an element: 1, 2, 4, 8 or 16
  int64_t dst_offset = 0, src_offset = 0;
  std::vector<Loop> rows, columns;  // innermost first; rows' dst steps and columns' src steps nest
  std::vector<Loop> outer;          // outermost first
  int64_t row_count = 1, column_count = 1, outer_count = 1;
  int64_t strip = 0;  // columns of one task
  int64_t chunk = 0;  // rows of one task; whole panels unless it is all of them
  Store store = Store::cached;
  // The largest power of two, at most a line, that divides every dst step outside of a run: columns lie at multiples of
  // it from the first one, whose address is known only when the schedule is run.
  int64_t alignment = 1;
  int depth = 1;             // lines of each column that are written together: 1 or 2
  bool soon = false;         // of pairs: what is asked for has to be read soon, since rows compete
  bool staged = false;       // past the cache, single lines: rows go through tiles in L1
  bool fetches_all = false;  // all lines of the next panel are asked for, however long strips are

  int64_t strips() const { return ceil_div(column_count, strip); }
  int64_t chunks() const { return ceil_div(row_count, chunk); }
  int64_t tasks() const { return outer_count * strips() * chunks(); }
  // Rows and columns lie equally far apart, and there are enough of them for whole blocks.
  bool is_uniform() const {
    return rows.size() == 1 && columns.size() == 1 && row_count * word >= 64 &&
           column_count * word >= 32;
  }
  bool aligned() const { return alignment == line_bytes; }
  // Whole lines can be put together from two panels.
  bool can_skew() const { return alignment % skew_unit(static_cast<int>(word)) == 0; }
  // Threads share panels, not tasks, and so always evenly.
  int64_t panel_rows() const { return depth * 64 / word; }
  int64_t panels() const { return ceil_div(row_count, panel_rows()); }
};

constexpr int64_t most_small_side = 256;  // rows or columns of what is moved without tables

// Null when the plan is no transposition of words.
std::optional<TileSchedule> make_tile_schedule(const RearrangePlan& plan, const Policy& policy);

// How long it takes.
double tiles_ns(const TileSchedule& schedule, const RearrangePlan& plan, const Setting& setting);

std::unique_ptr<RearrangeKernel> make_tiles(TileSchedule schedule, const RearrangePlan& plan,
                                            const Policy& policy);

std::string to_string(const TileSchedule& schedule);

}  // namespace infini::cpu
