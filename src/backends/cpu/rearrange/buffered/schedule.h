// Transpositions by tiles that are put together in a buffer in L1.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/cpu/rearrange/sides.h"

namespace infini::cpu {

// Tiles of some lines of each column by some lines of each row: down a strip of columns, so that every column's run in dst
// grows, then the next strip.
struct BufferedSchedule : Sides {
  int64_t strip = 0;  // columns of a tile
  int64_t lines = 0;  // of each column in a tile
  bool streamed = false;

  int64_t tile_rows() const { return lines * line_bytes / word; }
  int64_t strips() const { return ceil_div(column_count, strip); }
  int64_t tiles_of_strip() const { return ceil_div(row_count, tile_rows()); }
  int64_t tiles() const { return outer_count * strips() * tiles_of_strip(); }
};

// Null when the plan is no transposition of words.
std::optional<BufferedSchedule> make_buffered_schedule(const RearrangePlan& plan,
                                                       const Policy& policy);

// How long it takes.
double buffered_ns(const BufferedSchedule& schedule, const RearrangePlan& plan,
                   const Setting& setting);

std::unique_ptr<RearrangeKernel> make_buffered(BufferedSchedule schedule, const RearrangePlan& plan,
                                               const Policy& policy);

std::string to_string(const BufferedSchedule& schedule);

}  // namespace infini::cpu
