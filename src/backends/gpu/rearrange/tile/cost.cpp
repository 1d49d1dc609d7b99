// What a block costs.
#include "backends/gpu/rearrange/tile/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "backends/gpu/rearrange/costs.h"
#include "backends/gpu/rearrange/tile/layout.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

double warps(double threads) { return std::ceil(threads / 32); }

double written_bytes(const UnitNest& nest) {
  double bytes = nest.unit;
  for (int i = 0; i < nest.depth; ++i) bytes *= static_cast<double>(nest.loops[i].extent);
  return bytes;
}

const TileCosts::Gather& gather_costs(Gather gather, const TileCosts& costs) {
  switch (gather) {
    case Gather::each: return costs.each;
    case Gather::prepared: return costs.prepared;
    case Gather::linear: return costs.linear;
    case Gather::staged: return costs.staged;
    case Gather::words:
    case Gather::columns:
    case Gather::single: break;
  }
  return costs.words;
}

// Instructions for one vector: for itself and for each of its units.
double gather_instructions(Gather gather, double units, const TileCosts& costs) {
  const TileCosts::Gather& found = gather_costs(gather, costs);
  return found.once + found.unit * units;
}

// Lines, sectors and vectors that two runs share, most often of two blocks.
double split_cost(Ends ends, const TileCosts& costs) {
  switch (ends) {
    case Ends::lines: return 0;
    case Ends::sectors: return costs.split_line;
    case Ends::vectors: return costs.split_line + costs.split_sector;
    case Ends::units: break;
  }
  return costs.split_line + costs.split_vector;
}

// A thread of `words` finds its entries together where the innermost loop is long enough, else each by itself.
double table_instructions(const TileSchedule& s, const TileCosts& costs) {
  const double each = std::ceil(static_cast<double>(s.table_units) / tile_threads);
  const bool together =
      s.gather == Gather::words && s.run_depth > 1 && each <= s.run[0].extent.divisor;
  return together ? tile_threads / 32 *
                        (costs.table_loop * (s.run_depth + 1) + costs.word_table_entry * each)
                  : warps(s.table_units) * costs.table_loop * s.run_depth;
}

// Units one by one: all runs of a thread are found from the first, unless that takes several loops.
void add_single_walk(const TileSchedule& s, const TileCosts& costs, BlockWork& work) {
  const double lanes = s.lanes.divisor, before = s.per_place == 0 ? 0 : lanes / 2;
  const double positions = std::ceil((s.run_units[0] + before) / lanes);
  const bool linear = s.runs_depth <= 1 && s.repeats[0] == 1;
  const double runs = static_cast<double>(s.runs[0]) * s.repeats[0];
  work.rounds = positions * std::ceil(runs / s.run_threads);
  work.warps = warps(lanes * s.run_threads);
  work.vector = linear ? costs.single : costs.single_turned;
  work.at_once = 4;
  // Of the time that a store of a warp takes, which goes to 1, 2 or 4 places and more.
  const double askew = s.per_place == 0 && s.unit < 4 ? costs.single_askew : 1;
  work.words = askew * costs.single_stores[std::min(s.unit / 2, 2)][lanes >= 32   ? 0
                                                                    : lanes >= 16 ? 1
                                                                                  : 2];
  work.word_bytes = s.unit;
  work.piece = std::min(lanes, 32.0) * s.unit;
  work.once += s.per_place != 0 ? work.warps * std::ceil(runs / s.run_threads) * costs.single_run
                                : work.warps * positions *
                                      (costs.single_place + costs.single_loop * s.run_depth);
}

// Runs that are copied inside shared memory, and then shifted.
void add_staged_walk(const TileSchedule& s, const TileCosts& costs, BlockWork& work) {
  const double units = vector_bytes / s.unit, lanes = s.lanes.divisor;
  const double once = std::ceil(s.stage_vectors / lanes);  // offsets are looked up so often
  const double out =
      std::ceil(static_cast<double>(s.runs[0]) * s.out_pieces.divisor / tile_threads);
  const double shift = s.out_bytes == vector_bytes ? costs.staged_vector : costs.staged_other;
  work.rounds = once * std::ceil(static_cast<double>(s.runs[0]) / s.run_threads);
  work.warps = warps(lanes * s.run_threads);
  work.vector = gather_instructions(s.gather, units, costs);
  work.words = units + costs.staged_words;
  work.word_bytes = s.unit;
  work.piece = std::min<double>(s.out_pieces.divisor, 32) * s.out_bytes;
  work.once += work.warps * once * costs.look_up * units + table_instructions(s, costs) +
               tile_threads / 32 * out * shift * s.repeats[0];
  // The sectors that runs share are written together, unless the runs lie far apart.
  if (!work.runs_far) work.lie.runs = std::min(work.lie.runs, Ends::vectors);
}

// Words of runs, each by a thread.
void add_words_walk(const TileSchedule& s, const TileCosts& costs, BlockWork& work) {
  const double units = 4.0 / s.unit, lanes = s.lanes.divisor;
  const double once = std::ceil(s.out_pieces.divisor / lanes);
  const double turns = repeat_turns(s, s.repeats[0]), alike = s.repeats[0] / turns;
  work.rounds = once * std::ceil(static_cast<double>(s.runs[0]) / s.run_threads) * turns;
  work.warps = warps(lanes * s.run_threads);
  const double word = costs.word + costs.word_unit * units;
  work.vector = s.runs_alike && s.repeats[0] == 1 ? costs.word_alike * word
                                                  : word + costs.word_again * (alike - 1);
  work.at_once = 2;
  work.words = units;
  work.word_bytes = s.unit;
  work.piece = std::min(lanes, 32.0) * 4;
  work.once += work.warps * once * turns * costs.word_entry * units + table_instructions(s, costs);
  work.lie.runs = std::min(work.lie.runs, Ends::vectors);
}

void add_store_walk(const TileSchedule& s, const TileCosts& costs, BlockWork& work) {
  if (s.gather == Gather::single) return add_single_walk(s, costs, work);
  if (s.gather == Gather::staged) return add_staged_walk(s, costs, work);
  if (s.gather == Gather::words) return add_words_walk(s, costs, work);
  const double units = vector_bytes / s.unit, lanes = s.lanes.divisor;
  const auto vectors = static_cast<double>(run_vectors(s));
  const double columns = s.gather == Gather::columns ? 4.0 / s.unit : 1;
  const bool each = s.gather == Gather::each;
  work.rounds =
      each ? std::ceil(vectors * s.runs[0] / tile_threads)
           : std::ceil(vectors / lanes) * std::ceil(s.runs[0] / columns / s.run_threads) * columns;
  work.warps = warps(each ? tile_threads : lanes * s.run_threads);
  const double partial = work.lie.runs != Ends::units ? 0 : std::min(1.0, 48 / vectors) * units;
  const double turns = repeat_turns(s, s.repeats[0]);
  work.vector = gather_instructions(s.gather, units, costs) + costs.repeat * s.repeats[0] / turns +
                partial * (s.unit == 1 ? costs.part_byte : costs.part_unit);
  work.rounds *= turns;
  work.words = s.gather == Gather::columns ? 4 : units;
  work.word_bytes = s.unit;
  work.piece = std::min(lanes, 32.0) * vector_bytes;
  if (s.gather == Gather::prepared) work.once += work.warps * costs.look_up * units;
  if (s.gather <= Gather::prepared) work.once += table_instructions(s, costs);
}

}  // namespace

void Banks::ask(int32_t byte) {
  const int32_t word = byte >> 2, bank = word & (banks - 1);
  int32_t* const words = words_[bank];
  if (std::find(words, words + count_[bank], word) != words + count_[bank]) return;
  words[count_[bank]++] = word;
  worst_ = std::max(worst_, count_[bank]);
}

double bank_conflicts(const TileSchedule& s) {
  const auto units = static_cast<uint32_t>(s.gather == Gather::single  ? 1
                                           : s.gather == Gather::words ? 4 / s.unit
                                                                       : vector_bytes / s.unit);
  const uint32_t runs = s.gather == Gather::columns ? static_cast<uint32_t>(4 / s.unit) : 1;
  const bool alike = s.gather >= Gather::linear && s.gather != Gather::words &&
                     (s.unit >= 4 || s.gather == Gather::columns);
  const uint32_t samples = alike ? 1 : std::min(units, 4u);
  const auto last = static_cast<uint32_t>(s.run_units[0] - 1);
  double sum = 0;
  for (uint32_t sample = 0; sample < samples; ++sample) {
    Banks banks;
    for (int thread = 0; thread < bank_threads(s.unit); ++thread) {
      const ThreadPlace at = place_thread(s, static_cast<uint32_t>(thread));
      if (at.run * runs >= static_cast<uint32_t>(s.runs[0])) break;
      const uint32_t position = std::min(at.vector * units + sample * units / samples, last);
      banks.ask(position_image(s, position) + place_run(s, at.run * runs).image + s.below[0]);
    }
    sum += banks.conflicts();
  }
  return sum / samples;
}

Lie lie_of(const TileSchedule& s) {
  Lie lie{ends_at(s.row_bytes[0]),
          std::max(ends_at(int64_t{s.run_units[0]} * s.unit), ends_at(s.repeat_step))};
  for (int i = 0; i < s.row_depth; ++i) lie.rows = std::max(lie.rows, ends_at(s.row[i].step));
  for (int i = 0; i < s.runs_depth; ++i) lie.runs = std::max(lie.runs, ends_at(s.many[i].step));
  for (int i = 0; i < s.grid_depth; ++i) {
    lie.rows = std::max(lie.rows, ends_at(s.grid[i].src_step));
    lie.runs = std::max(lie.runs, ends_at(s.grid[i].dst_step));
  }
  // Runs of which only the last ends anywhere begin at vectors.
  if (lie.runs == Ends::units && runs_aligned(s)) lie.runs = Ends::vectors;
  return lie;
}

// With gaps a run's sectors are written in part, and so read before.
double run_traffic(const TileSchedule& s, bool gaps) {
  const auto units = static_cast<double>(s.run_units[0]);
  if (!gaps) return units * s.unit;
  double span = s.unit;
  for (int i = 0; i < s.run_depth; ++i)
    span += static_cast<double>((s.run[i].extent.divisor - 1) * s.run[i].step);
  return 2 * std::min(span, units * sector_bytes);
}

double start_instructions(int grid_depth, const TileCosts& costs) {
  return tile_threads / 32 * (costs.block_start + costs.grid_loop * grid_depth);
}

BlockWork work_of(const TileSchedule& s, const Lie& lie, const TileCosts& costs) {
  BlockWork work{};
  work.blocks = s.tiles;
  work.runs = s.runs[0], work.repeats = s.repeats[0];
  work.run_bytes = static_cast<double>(s.run_units[0]) * s.unit;
  work.run_traffic = run_traffic(s, s.gather == Gather::single);
  work.bytes = work.run_bytes * work.runs * work.repeats;
  work.shared_bytes = s.shared_bytes;
  work.resident = s.gather == Gather::words           ? costs.resident_words
                  : s.unit == 1 && looks_up(s.gather) ? costs.resident_bytes
                                                      : costs.resident;
  work.rows = s.rows[0], work.row_bytes = s.row_bytes[0];
  work.row_depth =
      s.rows_listed ? costs.listed_row_loops : s.row_depth;  // found once, for all threads
  work.row_step = s.row_depth > 0 ? std::abs(static_cast<double>(s.row[0].step)) : INFINITY;
  work.row_rounds =
      std::ceil(work.rows / std::floor(tile_threads / s.row_lanes[!s.rows_sectored].divisor));
  work.lie = lie;
  work.runs_far = s.runs_depth > 0 && std::abs(s.many[0].step) >= costs.far_bytes;
  work.once = start_instructions(s.grid_depth, costs);
  add_store_walk(s, costs, work);
  return work;
}

double launch_ns(double cost, const UnitNest& nest, const DeviceModel& device) {
  return device.rearrange->launch.start_ns +
         cost * written_bytes(nest) / device.processors / device.clock_ghz;
}

double cost_of_block(const BlockWork& w, double conflicts, const UnitNest& nest,
                     const DeviceModel& device) {
  const TileCosts& costs = device.rearrange->tile;
  const double bytes = written_bytes(nest);
  const double filled = bytes / (w.bytes * w.blocks);  // the rest lies beyond loops' ends
  const double line = w.lie.rows == Ends::lines ? 0 : costs.row_line;
  const double row = std::min(w.row_bytes + costs.row_place + line, w.row_step);
  const double run =
      w.run_traffic + split_cost(w.lie.runs, costs) +
      std::ceil(w.run_bytes / w.piece) * (costs.run_place + (w.runs_far ? costs.far_place : 0));
  const double memory = (w.rows * row + w.runs * w.repeats * run) * filled /
                        (costs.bus_share * device.bytes_per_cycle());
  const double rows = tile_threads / 32 * w.row_rounds * costs.row_loop * w.row_depth;
  const double issued =
      (w.warps * w.rounds * w.vector + rows + w.once) / device.rearrange->launch.issues_per_cycle;
  const double shared =
      costs.bank * w.warps * w.rounds * w.words * conflicts * std::max(1.0, w.word_bytes / 4);
  const double share = w.blocks / device.processors, turns = std::max(1.0, share);
  const double resident =
      std::max(1.0, std::floor(std::min({w.resident, std::ceil(share),
                                         static_cast<double>(device.shared_bytes) /
                                             (w.shared_bytes + costs.block_shared_bytes)})));
  const double waiting =
      w.rounds / w.at_once * (costs.vector_wait + costs.word_wait * w.words) / resident;
  const double longest = std::max({memory, issued, shared});
  const double busy = longest + costs.beside_longest * (memory + issued + shared - longest);
  const double cycles = busy * (1 + costs.large * w.shared_bytes / costs.large_bytes) + waiting;
  return cycles * (turns + costs.tail * std::min(resident, turns)) / (share * w.bytes * filled);
}

}  // namespace infini::gpu
