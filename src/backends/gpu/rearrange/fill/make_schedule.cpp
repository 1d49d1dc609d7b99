// Making a fill schedule: which runs touch, and what of them a block takes.
#include "backends/gpu/rearrange/fill/make_schedule.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();
constexpr int64_t piece_limit = int64_t{fill_vectors} * vector_bytes;

FastDivisor divisor(int64_t n) { return make_fast_divisor(static_cast<uint32_t>(n)); }

// Numbers the runs by the loops around them. Gives how many there are, 0 if too many, and counts those that touch.
int64_t add_loops(const UnitNest& nest, int64_t run_bytes, FillSchedule& s) {
  int64_t runs = 1, touching = 1;
  for (int i = nest.depth - 1; i-- > 0;) {
    const Loop& loop = nest.loops[i];
    if (s.depth == max_grid_loops || !checked_mul(runs, loop.extent, runs) || runs > grid_limit)
      return 0;
    s.loops[s.depth++] = {divisor(loop.extent), loop.dst_step, loop.src_step};
    if (touching == runs / loop.extent && loop.dst_step == touching * run_bytes) touching = runs;
  }
  s.stretch_runs = static_cast<uint32_t>(touching);
  return runs;
}

// Pieces of whole runs, or of one. Gives how many a stretch has.
int64_t cut_stretch(int64_t run_bytes, FillSchedule& s) {
  const int64_t segments = ceil_div(run_bytes, piece_limit);
  const int64_t runs =
      std::min(int64_t{s.stretch_runs}, std::max(piece_limit / run_bytes, int64_t{1}));
  const int64_t bytes =
      segments > 1 ? round_up(ceil_div(run_bytes, segments), sector_bytes) : runs * run_bytes;
  s.piece_runs = static_cast<uint32_t>(runs);
  s.piece_bytes = static_cast<int32_t>(bytes);
  s.segments = divisor(segments > 1 ? ceil_div(run_bytes, bytes) : 1);
  // A cut run never ends within what is divided.
  s.run_bytes = divisor(segments > 1 ? grid_limit : run_bytes);
  return ceil_div(int64_t{s.stretch_runs}, runs) * s.segments.divisor;
}

}  // namespace

std::optional<FillSchedule> make_fill_schedule(const UnitNest& nest) {
  if (nest.depth == 0 || nest.unit > 8) return std::nullopt;
  const Loop& inner = nest.loops[nest.depth - 1];
  if (inner.src_step != 0 || inner.dst_step != nest.unit) return std::nullopt;
  const int64_t run_bytes = inner.extent * nest.unit;
  if (run_bytes < least_fill_bytes || ceil_div(run_bytes, piece_limit) > grid_limit)
    return std::nullopt;
  FillSchedule s{};
  const int64_t runs = add_loops(nest, run_bytes, s);
  int64_t blocks = runs == 0 ? 0 : cut_stretch(run_bytes, s);
  if (blocks == 0 || blocks > grid_limit) return std::nullopt;
  const int64_t stretches = runs / s.stretch_runs;
  const int64_t vectors = ceil_div(int64_t{s.piece_bytes} + vector_bytes - nest.unit, vector_bytes);
  const int64_t per_block =
      blocks > 1 ? 1 : std::min(stretches, std::max(fill_vectors / vectors, int64_t{1}));
  const int64_t listed = int64_t{s.piece_runs} + 1;
  s.pieces = divisor(blocks);
  if (!checked_mul(blocks, ceil_div(stretches, per_block), blocks) || blocks > grid_limit)
    return std::nullopt;
  s.unit = nest.unit;
  s.blocks = static_cast<uint32_t>(blocks);
  s.stretches = static_cast<uint32_t>(stretches);
  s.stretches_per_block = static_cast<uint32_t>(per_block);
  s.listed = divisor(listed);
  s.vectors = divisor(vectors);
  s.places_at =
      static_cast<uint32_t>(round_up(per_block * listed * listed_bytes(nest.unit), int64_t{8}));
  s.piece_at = s.places_at + static_cast<uint32_t>(per_block * int64_t{sizeof(int64_t)});
  s.shared_bytes = s.piece_at + static_cast<uint32_t>(sizeof(FillPiece));
  s.whole_run_bytes = run_bytes;
  s.dst_offset = nest.dst_offset;
  s.src_offset = nest.src_offset;
  return s;
}

std::string to_string(const FillSchedule& s) {
  std::ostringstream text;
  text << s.stretches << " stretches of " << s.stretch_runs << " runs of " << s.whole_run_bytes
       << " B that repeat one unit of " << s.unit << " B, in " << s.blocks << " blocks of "
       << s.stretches_per_block << " x " << s.vectors.divisor << " vectors";
  return text.str();
}

}  // namespace infini::gpu
