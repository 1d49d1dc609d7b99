// Making schedules of transposing conversions.
#include "backends/cpu/convert/tiles/schedule.h"

#include <algorithm>

#include "base/dtype.h"

namespace infini::cpu {
namespace {

// The tiles' loops with the steps of scale and shift: y's steps are all different, so that by them loops are found again.
// Loops that the tiles walk from their other end are walked so here.
std::vector<Loop> numbers_of(const std::vector<Loop>& loops, const std::vector<OperatorLoop>& nest,
                             int64_t (&offsets)[2]) {
  std::vector<Loop> numbers;
  for (const Loop& loop : loops) {
    const auto found = std::find_if(nest.begin(), nest.end(), [&](const OperatorLoop& l) {
      return l.steps[0] == magnitude(loop.dst_step);
    });
    int64_t steps[] = {found->steps[2], found->steps[3]};
    for (int k = 0; k < 2 && loop.dst_step < 0; ++k) {
      offsets[k] += (loop.extent - 1) * steps[k];
      steps[k] = -steps[k];
    }
    numbers.push_back({loop.extent, steps[0], steps[1]});
  }
  return numbers;
}

}  // namespace

std::optional<ConvertTiles> make_convert_tiles(const OperatorPlan& plan, const Policy& policy) {
  const auto move = move_in_words(plan);
  if (!move) return std::nullopt;
  // Lines are read by conversions, which ask for none: no strips are cut for that.
  Policy unasked = policy;
  unasked.prefetched_strip = 0;
  auto tiles = make_tile_schedule(*move, unasked);
  if (!tiles) return std::nullopt;
  ConvertTiles schedule{std::move(*tiles), {}, {}, {}, {plan.offsets[2], plan.offsets[3]}};
  TileSchedule& t = schedule.tiles;
  // Lines of y go past the caches in pairs: single ones of many columns take twice as long.
  t.staged = t.soon = t.fetches_all = false;
  t.depth = t.store == TileSchedule::Store::streamed && t.row_bytes() >= 2 * line_bytes ? 2 : 1;
  t.chunk = t.row_count;
  const std::vector<OperatorLoop> nest = nest_of(plan);
  schedule.outer = numbers_of(t.outer, nest, schedule.offsets);
  schedule.rows = numbers_of(t.rows, nest, schedule.offsets);
  schedule.columns = numbers_of(t.columns, nest, schedule.offsets);
  const int64_t x_bytes = dtype_bytes(plan.dtypes[1]);
  for (auto* const loops : {&t.outer, &t.rows, &t.columns})
    for (Loop& loop : *loops) loop.src_step = loop.src_step / t.word * x_bytes;
  t.src_offset = t.src_offset / t.word * x_bytes;
  return schedule;
}

std::string to_string(const ConvertTiles& schedule) { return to_string(schedule.tiles); }

}  // namespace infini::cpu
