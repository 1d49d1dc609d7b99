// Counting lines and reckoning with the machine's rates.
#include "backends/cpu/rearrange/cost.h"

#include <algorithm>
#include <numeric>

#include "plan/rearrange/memory_traffic.h"

namespace infini::cpu {
namespace {

double as_double(int64_t x) { return static_cast<double>(x); }

// A share of 0 below what a cache holds, of 1 from twice that on.
double share_beyond(double bytes, double cache) {
  return std::clamp((bytes - cache) / std::max(cache, 1.0), 0.0, 1.0);
}

// Reads and writes at one level take as long as a copy there does, where they are as many, and never less than either alone:
// where both have a way of their own, what is more of one is beside nothing.
double level_ns(double read, double written, const Rate& load, const Rate& store, const Rate& copy,
                int threads) {
  const double reads = 1 / load.of(threads), writes = 1 / store.of(threads);
  return std::max({(read * reads + written * writes) / (reads + writes) / copy.of(threads),
                   read * reads, written * writes});
}

// By ordinary stores, from the smallest level that holds both sides.
double cached_ns(const Effort& e, double footprint, const Machine& m) {
  const double read = e.moved.read, written = e.moved.written;
  if (footprint <= m.l1_bytes) return 0;
  const double l2 = level_ns(read, written, m.l2_load, m.l2_store, m.l2_copy, e.threads),
               l3 = level_ns(read, written, m.l3_load, m.l3_store, m.l3_copy, e.threads),
               memory = level_ns(e.moved.fetched, written, m.memory_load, m.memory_store,
                                 m.memory_copy, e.threads);
  const double beyond_l2 = share_beyond(footprint, m.l2_bytes * e.threads / 2),
               beyond_l3 = share_beyond(footprint, m.l3_bytes / 2);
  return (1 - beyond_l2) * l2 + beyond_l2 * ((1 - beyond_l3) * l3 + beyond_l3 * memory);
}

// Past the caches, but for lines that are written in parts, which are fetched first.
double streamed_ns(const Effort& e, double source, const Machine& m) {
  const double parts = e.moved.parts, whole = std::max(0.0, e.moved.written - parts);
  const double reads = e.moved.read + parts;
  const double from_cache = std::max(reads / m.l3_load.of(e.threads),
                                     whole / m.streamed_store.of(e.threads)),
               from_memory = level_ns(e.moved.fetched + parts, whole, m.memory_load,
                                      m.streamed_store, m.streamed_copy, e.threads);
  const double beyond = share_beyond(source, m.l3_bytes / 2);
  return (1 - beyond) * from_cache + beyond * from_memory + parts / m.memory_store.of(e.threads);
}

}  // namespace

Walk& Walk::add(const Loop& loop, int64_t part) {
  if (part > 1) loops_.push_back({part, loop.dst_step, loop.src_step});
  if (part < loop.extent)
    rest_.push_back({ceil_div(loop.extent, part), loop.dst_step * part, loop.src_step * part});
  return *this;
}
Walk& Walk::add(const std::vector<Loop>& innermost_first) {
  for (const Loop& loop : innermost_first) add(loop);
  return *this;
}
Walk& Walk::add_outer(const std::vector<Loop>& outermost_first) {
  for (size_t i = outermost_first.size(); i-- > 0;) add(outermost_first[i]);
  return *this;
}
Walk& Walk::add_rest() {
  loops_.insert(loops_.end(), rest_.begin(), rest_.end());
  rest_.clear();
  return *this;
}

Walk walk_of_sides(const Sides& sides, int64_t tile_rows, int64_t tile_columns) {
  Walk walk;
  walk.add(sides.rows.front(), std::min(sides.rows.front().extent, tile_rows));
  if (sides.columns.size() == 1)
    walk.add(sides.columns.front(), std::min(sides.columns.front().extent, tile_columns));
  else
    walk.add(sides.columns);
  walk.add_rest();
  for (size_t i = 1; i < sides.rows.size(); ++i) walk.add(sides.rows[i]);
  return walk.add_outer(sides.outer);
}

bool lies_in_l1(const RearrangePlan& plan, const Machine& machine) {
  const double lines = as_double(1 + ceil_div(plan.atom_bytes, line_bytes)) * line_bytes;
  return 2 * as_double(atom_count(plan)) * lines <= machine.l1_bytes;
}

Moved lines_of_walk(const RearrangePlan& plan, const Walk& walk, double held_bytes) {
  RearrangePlan box;
  box.atom_bytes = plan.atom_bytes;
  MemoryTraffic traffic = memory_traffic(box, line_bytes);
  double boxes = 1;
  bool full = false;
  for (const Loop& loop : walk.loops()) {
    if (full) {
      boxes *= as_double(loop.extent);
      continue;
    }
    box.loops[box.depth++] = loop;
    const MemoryTraffic larger = memory_traffic(box, line_bytes);
    const double before = traffic.read + traffic.written, with = larger.read + larger.written;
    if (with <= held_bytes) {
      traffic = larger;
      continue;
    }
    full = true;
    const double share = std::clamp((held_bytes - before) / (with - before), 0.0, 1.0);
    const auto part = std::max<int64_t>(1, static_cast<int64_t>(share * as_double(loop.extent)));
    box.loops[box.depth - 1].extent = part;
    traffic = memory_traffic(box, line_bytes);
    boxes *= as_double(loop.extent) / as_double(part);
  }
  const double source = source_traffic(box, line_bytes);
  const double fetched = source_traffic(box, fetched_bytes);
  return {boxes * source, boxes * fetched, boxes * traffic.written,
          boxes * (traffic.read - source)};
}

int64_t sets_in_turn(const std::vector<Loop>& loops, int64_t Loop::*step, int64_t count) {
  int64_t sets = 1, left = std::min(count, sets_of_l1);
  for (const Loop& loop : loops) {
    const int64_t part = std::min(loop.extent, left);
    const int64_t apart = std::max(std::gcd(loop.*step, way_bytes), line_bytes);
    sets = std::min(sets_of_l1, sets * std::min(part, way_bytes / apart));
    left = ceil_div(left, part);
  }
  return sets;
}

double crowded_ns(const std::vector<Loop>& loops, int64_t Loop::*step, int64_t count,
                  const Machine& m) {
  // Lines that are on their way at once: so many as there are sets, each of which would have one.
  const double in_set = as_double(std::min(count, sets_of_l1)) /
                        as_double(sets_in_turn(loops, step, count)),
               ways = m.l1_bytes / way_bytes;
  return in_set <= ways ? 0 : (1 - ways / in_set) * m.crowded_line_ns;
}

int threads_of(const RearrangePlan& plan, const Policy& policy, int64_t tasks) {
  return static_cast<int>(std::min<int64_t>(threads_for(moved_bytes(plan), policy), tasks));
}

double nanoseconds_of(const Effort& effort, const RearrangePlan& plan, const Machine& machine) {
  if (!effort.streamed && lies_in_l1(plan, machine)) return effort.instructions_ns;
  const double source = source_traffic(plan, line_bytes),
               written = memory_traffic(plan, line_bytes).written;
  const double memory = effort.streamed ? streamed_ns(effort, source, machine)
                                        : cached_ns(effort, source + written, machine);
  const double instructions = effort.instructions_ns / effort.threads;
  constexpr double beside = 0.3;  // of the shorter one, which is not hidden behind the longer one
  return (effort.threads > 1 ? machine.region_ns : 0) + std::max(memory, instructions) +
         beside * std::min(memory, instructions);
}

}  // namespace infini::cpu
