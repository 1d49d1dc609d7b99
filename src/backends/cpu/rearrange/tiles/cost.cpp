// What tiles cost: a few shuffles for every line, a call for every panel, and lines that are stored far apart.
#include <algorithm>
#include <bit>

#include "backends/cpu/rearrange/cost.h"
#include "backends/cpu/rearrange/tiles/schedule.h"

namespace infini::cpu {
namespace {

// Blocks of lanes that a tile has, by how they are moved.
struct Blocks {
  double panels = 0, whole = 0, edges = 0;
};
Blocks blocks_of(const TileSchedule& s, bool overlap) {
  const int64_t unit = line_bytes / s.word, lanes = lane_bytes / s.word;
  const int64_t strip = std::min(s.strip, s.column_count);
  const auto times = static_cast<double>(s.outer_count * s.strips());
  const bool cached = s.store == TileSchedule::Store::cached;
  const bool closes = overlap && s.row_count > unit;  // the last panel overlaps the one before
  const int64_t full = closes ? ceil_div(s.row_count, unit) : s.row_count / unit;
  const int64_t across = strip / lanes, rest = strip % lanes != 0 ? 1 : 0;
  const bool rest_is_whole = cached && across > 0;
  Blocks blocks;
  blocks.panels = times * static_cast<double>(ceil_div(s.row_count, unit));
  blocks.whole = times * static_cast<double>(full * (across + (rest_is_whole ? rest : 0)));
  blocks.edges = times * static_cast<double>(full * (rest_is_whole ? 0 : rest));
  if (!closes && s.row_count % unit != 0)
    blocks.edges += times * static_cast<double>(across + rest);
  return blocks;
}

// Lines that wait for each other where ordinary stores bring them to L1 (past the caches what is asked for comes to L2).
double waits_ns(const TileSchedule& s, const Moved& moved, const Machine& m) {
  if (moved.read == 0 || s.store == TileSchedule::Store::streamed) return 0;
  const double reads = moved.read / line_bytes, writes = moved.written / line_bytes;
  return reads * crowded_ns(s.rows, &Loop::src_step, line_bytes / s.word, m) +
         writes * crowded_ns(s.columns, &Loop::dst_step, s.strip, m);
}

}  // namespace

double tiles_ns(const TileSchedule& s, const RearrangePlan& plan, const Setting& setting) {
  const Machine& m = setting.machine;
  const int64_t unit = line_bytes / s.word, lanes = lane_bytes / s.word;
  Effort effort;
  effort.threads = threads_of(plan, setting.policy, s.outer_count * s.strips() * s.panels());
  effort.streamed = s.store == TileSchedule::Store::streamed;
  if (effort.streamed || !lies_in_l1(plan, m))
    effort.moved = lines_of_walk(plan, walk_of_sides(s, s.panel_rows(), s.strip), held_in_l2(m));
  if (effort.streamed && !s.aligned()) {
    // What is left of a line waits for the next panel, so that every line leaves once and whole: only runs have ends, which
    // are two lines written in parts.
    const auto runs = static_cast<double>(s.outer_count * s.column_count);
    effort.moved.parts = 2 * runs * line_bytes;
    effort.moved.written =
        std::min(effort.moved.written, static_cast<double>(moved_bytes(plan)) + effort.moved.parts);
  } else if (effort.streamed) {
    effort.moved.parts = 0;
  }
  const bool small = s.goes_whole(effort.threads);
  const bool uniform = small && s.is_uniform();
  const Blocks blocks = blocks_of(s, small);
  const auto steps = static_cast<double>(std::bit_width(static_cast<uint64_t>(lanes)) - 1);
  const auto rows = static_cast<double>(unit), columns = static_cast<double>(lanes);
  const double block = columns * (m.vector_ns + steps * m.exchange_ns);
  const double panel = (uniform ? 1 : rows) * turn_ns(m);  // where each row lies
  // Edges are loaded and stored by masks, which takes twice as long.
  effort.instructions_ns = blocks.panels * panel + (blocks.whole + 2 * blocks.edges) * block +
                           waits_ns(s, effort.moved, m);
  return nanoseconds_of(effort, plan, m);
}

}  // namespace infini::cpu
