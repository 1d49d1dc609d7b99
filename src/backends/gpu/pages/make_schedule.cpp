// Making piece schedules: the plan's loops around the unit, and how many pieces fill a block.
#include "backends/gpu/pages/make_schedule.h"

#include <algorithm>
#include <sstream>

#include "backends/gpu/rearrange/unit_nest.h"

namespace infini::gpu {
namespace {

constexpr int64_t most_units = int64_t{1} << 30;

}  // namespace

int natural_unit(const RearrangePlan& plan) { return make_unit_nest(plan, 16).unit; }

std::optional<PieceSchedule> make_piece_schedule(const RearrangePlan& plan, int unit) {
  const UnitNest nest = make_unit_nest(plan, unit);
  if (nest.depth > max_piece_loops) return std::nullopt;
  PieceSchedule s{};
  s.unit = nest.unit;
  s.depth = nest.depth;
  s.dst_offset = nest.dst_offset;
  s.src_offset = nest.src_offset;
  int64_t units = 1;
  for (int i = 0; i < nest.depth; ++i) {
    const Loop& loop = nest.loops[nest.depth - 1 - i];
    if (loop.extent > most_units || (units *= loop.extent) > most_units) return std::nullopt;
    s.loops[i] = {make_fast_divisor(static_cast<uint32_t>(loop.extent)), loop.dst_step,
                  loop.src_step};
  }
  s.units = static_cast<uint32_t>(units);
  s.per_piece = make_fast_divisor(s.units);
  const uint32_t chunks = (s.units + block_units - 1) / block_units;
  s.chunks = make_fast_divisor(chunks);
  s.chunk_units = (s.units + chunks - 1) / chunks;
  s.pieces_per_block = chunks > 1 ? 1 : std::min(most_together, block_units / s.units);
  s.dense = s.depth == 0 ||
            (s.depth == 1 && s.loops[0].dst_step == s.unit && s.loops[0].src_step == s.unit);
  return s;
}

PieceSide make_piece_side(const PagedSide& side, const void* ids) {
  return {ids,
          side.last_page,
          side.pitch,
          side.piece_step,
          make_fast_divisor(static_cast<uint32_t>(side.pieces)),
          side.whole_pages};
}

std::string to_string(const PieceSchedule& s) {
  std::ostringstream text;
  text << "pieces of " << s.units << " units of " << s.unit << " bytes, ";
  if (s.chunks.divisor > 1)
    text << s.chunks.divisor << " blocks for each";
  else
    text << s.pieces_per_block << " in a block";
  return text.str();
}

}  // namespace infini::gpu
