// What a block of a transposition costs.
#include "backends/gpu/rearrange/transpose/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace infini::gpu {
namespace {

// Whether a thread's runs begin alike in their sectors, so that it finds its rows once.
bool leads_alike(const TransposeSchedule& s) {
  return s.unit >= 4 && s.column[0].step * s.run_threads % sector_bytes == 0;
}

// Uneven rows of short units, found by their parts.
bool by_parts(const TransposeSchedule& s) {
  return s.unit < 4 && !s.rows_even && (s.position_depth == 1 || s.group_skew == 0);
}

// Instructions for one vector.
double vector_instructions(const TransposeSchedule& s, const TransposeCosts& costs) {
  if (s.by_words) return costs.words;
  const TileCosts::Gather& found = s.lead_rows == 0                       ? costs.vectors
                                   : leads_alike(s)                       ? costs.alike
                                   : !s.pieces_long                       ? costs.short_pieces
                                   : by_parts(s) && s.position_depth > 1  ? costs.listed
                                   : by_parts(s) && s.group_skew > 0      ? costs.skewed
                                   : by_parts(s)                          ? costs.plain
                                   : s.rows_even || s.position_depth == 1 ? costs.even
                                                                          : costs.others;
  return found.once + found.unit * (vector_bytes / s.unit);
}

// Blocks of which a processor's registers hold all at once.
double resident_blocks(const TransposeSchedule& s, const TransposeCosts& costs) {
  if (s.unit == 1 && !s.rows_even) return costs.resident_bytes;
  return s.by_words || !s.rows_even || s.unit == 1 ? costs.resident_uneven : costs.resident;
}

// Whole rows that follow one another in src are found together.
bool rows_touch(const TransposeSchedule& s) {
  const int64_t bytes = int64_t{s.stretch} * s.unit;
  return s.stretch == s.columns &&
         std::any_of(s.position, s.position + s.position_depth,
                     [&](const ChainLoop& loop) { return std::abs(loop.step) == bytes; });
}

Lie lie_of(const TransposeSchedule& s) {
  Lie lie{ends_at(int64_t{s.stretch} * s.unit), ends_at(int64_t{s.window} * s.unit)};
  for (int i = 0; i < s.position_depth; ++i)
    lie.rows = std::max(lie.rows, ends_at(s.position[i].step));
  for (int i = 0; i < s.column_depth; ++i) lie.runs = std::max(lie.runs, ends_at(s.column[i].step));
  for (int i = 0; i < s.grid_depth; ++i) {
    lie.rows = std::max(lie.rows, ends_at(s.grid[i].src_step));
    lie.runs = std::max(lie.runs, ends_at(s.grid[i].dst_step));
  }
  if (s.lead_rows > 0) lie.runs = Ends::sectors;  // of skewed windows
  return lie;
}

}  // namespace

BlockWork work_of(const TransposeSchedule& s, const RearrangeCosts& costs) {
  BlockWork work{};
  const double lanes = s.run_lanes.divisor, columns = s.by_words ? 4.0 / s.unit : 1;
  work.blocks = s.tiles;
  work.runs = s.stretch, work.run_bytes = static_cast<double>(s.window) * s.unit;
  work.repeats = 1;
  work.bytes = work.runs * work.run_bytes;
  work.shared_bytes = s.shared_bytes;
  work.resident = resident_blocks(s, costs.transpose);
  work.rows = transpose_rows(s), work.row_bytes = static_cast<double>(s.stretch) * s.unit;
  work.run_traffic = work.run_bytes;
  work.row_step = rows_touch(s) ? work.row_bytes : INFINITY;
  work.row_depth = std::min(s.position_depth, 2);  // found once, for all threads
  if (s.unit < 4 && !s.rows_even) work.row_depth = costs.transpose.listed_row_loops;
  work.row_rounds = std::ceil(work.rows / s.row_threads);
  work.lie = lie_of(s);
  work.runs_far = std::abs(s.column[0].step) >= costs.tile.far_bytes;
  work.rounds = std::ceil(work.runs / columns / s.run_threads) * columns;
  work.warps = std::ceil(lanes * s.run_threads / 32);
  work.vector = vector_instructions(s, costs.transpose);
  work.words = s.by_words ? 4 : vector_bytes / s.unit, work.word_bytes = s.unit;
  work.piece = std::min(lanes, 32.0) * vector_bytes;
  work.once = start_instructions(s.grid_depth, costs.tile);
  return work;
}

double bank_conflicts(const TransposeSchedule& s) {
  const int units = vector_bytes / s.unit, step = s.by_words ? 4 : s.unit;
  const int samples = s.by_words ? 1 : std::min(units, 4);
  double sum = 0;
  for (int sample = 0; sample < samples; ++sample) {
    Banks banks;
    for (int thread = 0; thread < bank_threads(s.unit); ++thread) {
      const ThreadPlace at = place_thread(static_cast<uint32_t>(thread), s.run_lanes);
      const uint32_t lead = s.lead_rows > 0 ? at.run * 37 % (s.lead_rows + 1) : 0;  // some place
      const uint32_t row = at.vector * static_cast<uint32_t>(units) + s.lead_rows - lead;
      const auto unit = static_cast<uint32_t>(sample * units / samples);
      banks.ask(static_cast<int32_t>(transpose_image(s, row + unit) +
                                     at.run * static_cast<uint32_t>(step)));
    }
    sum += banks.conflicts();
  }
  return sum / samples;
}

double cost_of_transpose(const TransposeSchedule& s, const UnitNest& nest,
                         const DeviceModel& device) {
  return cost_of_block(work_of(s, *device.rearrange), bank_conflicts(s), nest, device);
}

double transpose_ns(const TransposeSchedule& s, const UnitNest& nest, const DeviceModel& device) {
  const TransposeCosts& costs = device.rearrange->transpose;
  const double measured = s.by_words ? costs.of_words : costs.of_vectors;
  return launch_ns(measured * cost_of_transpose(s, nest, device), nest, device);
}

}  // namespace infini::gpu
