// Transpositions by tiles: panels of rows along strips of columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/rearrange/sides.h"

namespace infini::cpu {

// Two groups of loops are walked together: `rows` are contiguous in dst, `columns` in src. A panel of
// 64 / word rows (one line of dst; two with a depth of 2) is walked along a strip of columns, so that src
// is read in a few long ascending streams; then the next panel, so that every column's run in dst grows;
// after a chunk of rows the next strip.
constexpr int64_t most_small_side = 256;  // rows or columns of tiles that are moved whole

struct TileSchedule : Sides {
  enum class Store { cached, streamed };  // how the lines reach dst

  int64_t strip = 0;  // columns of one task
  int64_t chunk = 0;  // rows of one task; whole panels unless it is all of them
  Store store = Store::cached;
  int depth = 1;             // lines of each column that are written together: 1 or 2
  bool soon = false;         // of pairs: what is asked for has to be read soon, since rows compete
  bool staged = false;       // past the cache, single lines: rows go through tiles in L1
  bool asks = false;         // in the cache: both sides' lines are asked for before
  bool fetches_all = false;  // all lines of the next panel are asked for, however long strips are

  int64_t strips() const { return ceil_div(column_count, strip); }
  int64_t chunks() const { return ceil_div(row_count, chunk); }
  int64_t tasks() const { return outer_count * strips() * chunks(); }
  // Rows and columns lie equally far apart, and there are enough of them for whole blocks.
  bool is_uniform() const {
    return rows.size() == 1 && columns.size() == 1 && row_count * word >= 64 &&
           column_count * word >= 32;
  }
  // Small tiles are moved whole by a thread each, where they are so many that threads have about as many of them.
  bool goes_whole(int threads) const {
    constexpr int64_t even_share = 8;
    return store == Store::cached && row_count <= most_small_side &&
           column_count <= most_small_side && (threads == 1 || outer_count >= even_share * threads);
  }
  // Else threads share panels, not tasks, and so always evenly.
  int64_t panel_rows() const { return depth * 64 / word; }
  int64_t panels() const { return ceil_div(row_count, panel_rows()); }
};

// Null when the plan is no transposition of words.
std::optional<TileSchedule> make_tile_schedule(const RearrangePlan& plan, const Policy& policy);

// How long it takes.
double tiles_ns(const TileSchedule& schedule, const RearrangePlan& plan, const Setting& setting);

std::unique_ptr<RearrangeKernel> make_tiles(TileSchedule schedule, const RearrangePlan& plan,
                                            const Policy& policy);

std::string to_string(const TileSchedule& schedule);

}  // namespace infini::cpu
