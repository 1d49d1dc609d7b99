// The tiles of a plan: grow a box from one word, always along the loop that saves most, until it
// fills its buffer or there would be fewer tiles than workers.
#include "backends/kunlun/rearrange/schedule.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/checked.h"

namespace infini::kunlun {
namespace {

constexpr int burst_cost = 512;   // a DMA costs as much as this many bytes, whatever its size
constexpr int pick_cost = 16;     // picking a word, likewise
constexpr int least_density = 8;  // a burst may read 8 times what it needs
constexpr int least_piece = 512;  // bytes of a store that are worth a core of their own

// The memory of a walk: what a tile may take in its buffer, and who works on how many tiles.
struct Room {
  int64_t buffer, store;  // bytes of a tile as loaded; bytes of one store
  int64_t workers, least_tile;
};

Room room_of(Walk walk, int clusters) {
  const int64_t cores = int64_t{clusters} * cores_per_cluster;
  switch (walk) {
    case Walk::rows: return {direct_buffer_bytes, direct_buffer_bytes, cores, 512};
    case Walk::cluster_tiles:
      return {cluster_buffer_bytes, core_buffer_bytes / 2, clusters, 16 << 10};
    case Walk::core_tiles: break;
  }
  return {pick_buffer_bytes, pick_buffer_bytes, cores, 512};
}

// The largest word that fits the atom and every place in a burst.
int32_t unit_of(const RearrangePlan& plan) {
  int64_t common = plan.atom_bytes | 8;
  for (int i = 0; i < plan.depth; ++i) common |= plan.loops[i].src_step;
  return static_cast<int32_t>(common & -common);
}

class Builder {
 public:
  Builder(const RearrangePlan& plan, Walk walk, int clusters) : room_(room_of(walk, clusters)) {
    s_.walk = walk;
    take_loops(plan);
    const int64_t fair = moved_bytes(plan) / room_.workers;
    const int64_t most = walk == Walk::core_tiles ? pick_buffer_bytes : 16 * room_.buffer;
    useful_limit_ = std::min(std::max(fair, room_.least_tile), most);  // more only by broadcasts
    grow();
    finish(clusters);
  }
  Schedule result() const { return s_; }

 private:
  TileArguments& a() { return s_.arguments; }
  TileLoop& loop(int i) { return s_.arguments.loops[i]; }

  // The plan's loops and, innermost, the words of its atom.
  void take_loops(const RearrangePlan& plan) {
    a().unit = unit_of(plan);
    a().dst_offset = plan.dst_offset;
    a().src_offset = plan.src_offset;
    s_.outer_depth = std::max(0, plan.depth + 1 - max_tile_loops);
    std::copy_n(plan.loops, s_.outer_depth, s_.outer);
    for (int i = s_.outer_depth; i < plan.depth; ++i) add_loop(plan.loops[i]);
    add_loop({plan.atom_bytes / a().unit, a().unit, a().unit});
  }
  void add_loop(const Loop& from) {
    loop(a().depth++) = {from.extent, from.extent, from.dst_step, from.src_step, 1, 0};
  }

  // Doubles one loop after another, or makes it half as long again, while a byte gets cheaper.
  void grow() {
    double best = measure();
    for (bool grown = true; grown;) {
      grown = false;
      int chosen = 0;
      int32_t length = 0;
      for (int i = a().depth - 1; i >= 0; --i) {
        const int64_t before = loop(i).tile, extent = loop(i).extent;
        if (before == extent) continue;
        for (const int64_t more : {2 * before, before + (before + 1) / 2}) {
          loop(i).tile = static_cast<int32_t>(std::min(more, extent));
          const double cost = measure();
          if (!fits_ || cost >= best) continue;
          best = cost, chosen = i, length = loop(i).tile, grown = true;
        }
        loop(i).tile = static_cast<int32_t>(before);
      }
      if (grown) loop(chosen).tile = length;
    }
    measure();
  }

  // Bursts, places, runs and the cost per byte of the present tile.
  double measure() {
    choose_span();
    place_bursts();
    choose_run();
    double useful = a().unit, stores = 1;
    for (int i = 0; i < a().depth; ++i) useful *= loop(i).tile;
    const int first = a().depth - a().run_loops;
    for (int i = 0; i < first; ++i) stores *= loop(i).tile;
    choose_piece(static_cast<int64_t>(useful));
    stores *= static_cast<double>(ceil_div(loop(first).tile, a().piece));
    const double loads = static_cast<double>(bursts_);
    fits_ = bursts_ * span_ <= room_.buffer && useful <= static_cast<double>(useful_limit_) &&
            int64_t{a().piece} * a().point_bytes <= room_.store;
    s_.mean_burst = (loads * static_cast<double>(span_) + useful) / (loads + stores);
    s_.cost =
        (loads * static_cast<double>(burst_cost + span_) + stores * burst_cost + useful) / useful;
    if (s_.walk != Walk::rows) s_.cost += static_cast<double>(pick_cost) / a().unit;
    return s_.cost;
  }

  // The loops that move the source, nearest steps first; the words of an atom come before another
  // loop of the same step. Returns how many.
  int sort_by_source(int* order) {
    int count = 0;
    for (int i = a().depth - 1; i >= 0; --i) {
      if (loop(i).tile == 1 || loop(i).src_step == 0) continue;
      int place = count++;
      for (; place > 0 && std::abs(loop(i).src_step) < std::abs(loop(order[place - 1]).src_step);
           --place)
        order[place] = order[place - 1];
      order[place] = i;
    }
    return count;
  }

  // A burst takes in loop after loop while its bytes touch or are dense enough.
  void choose_span() {
    int order[max_tile_loops];
    const int count = sort_by_source(order);
    span_ = a().unit;
    a().span_mask = 0;
    s_.reads_gaps = false;
    int64_t covered = span_;
    for (int k = 0; k < count; ++k) {
      const TileLoop& next = loop(order[k]);
      const int64_t step = std::abs(next.src_step);
      if (step > room_.buffer) break;
      const int64_t span = span_ + (next.tile - 1) * step;
      const bool gap = step > span_;
      const int64_t bytes = std::min(span, covered * next.tile);
      const bool dense_enough = s_.walk != Walk::rows && bytes * least_density >= span;
      if (span > room_.buffer || (gap && !dense_enough)) break;
      s_.reads_gaps |= gap;
      span_ = span;
      covered = bytes;
      a().span_mask |= 1 << order[k];
    }
  }

  // Inside a burst a point lies where it lies in src; bursts follow one another in the order of
  // dst.
  void place_bursts() {
    bursts_ = 1;
    for (int i = a().depth - 1; i >= 0; --i) {
      const bool inside = a().span_mask >> i & 1;
      const bool separate = !inside && loop(i).tile > 1 && loop(i).src_step != 0;
      loop(i).local_step = static_cast<int32_t>(inside ? loop(i).src_step : 0);
      if (!separate) continue;
      const int64_t step = std::min<int64_t>(bursts_ * span_, INT32_MAX);  // too large does not fit
      loop(i).local_step = static_cast<int32_t>(step);
      bursts_ *= loop(i).tile;
    }
  }

  // The innermost loops whose points follow one another in dst (rows: in the buffer too).
  void choose_run() {
    a().run_loops = 1;
    a().run_levels = 0;
    int64_t point = a().unit;
    for (int i = a().depth - 1; i > 0; --i) {
      const TileLoop &inner = loop(i), &next = loop(i - 1);
      const int64_t run = point * inner.tile;
      const bool level = inner.tile > 1;
      if (inner.tile != inner.extent || next.dst_step != run || run > room_.store / 2) break;
      if (s_.walk == Walk::rows && next.local_step != run && next.tile > 1) break;
      if (level && a().run_levels == max_run_levels) break;
      if (level) {
        a().run_counts[a().run_levels] = inner.tile;
        a().run_steps[a().run_levels++] = inner.local_step / a().unit;
      }
      ++a().run_loops;
      point = run;
    }
    std::reverse(a().run_counts, a().run_counts + a().run_levels);
    std::reverse(a().run_steps, a().run_steps + a().run_levels);
    a().point_bytes = static_cast<int32_t>(point);
  }

  // A core stores a run at once; the cores of a cluster share long runs.
  void choose_piece(int64_t useful) {
    const TileLoop& first = loop(a().depth - a().run_loops);
    a().piece = first.tile;
    if (s_.walk != Walk::cluster_tiles) return;
    const int64_t share = std::clamp<int64_t>(useful / cores_per_cluster, least_piece, room_.store);
    a().piece = static_cast<int32_t>(
        std::clamp<int64_t>(share / a().point_bytes, 1, std::max(1, first.tile)));
  }

  void finish(int clusters) {
    a().direct = s_.walk == Walk::rows;
    a().tiles = 1;
    for (int i = 0; i < a().depth; ++i) {
      loop(i).tiles = ceil_div(loop(i).extent, loop(i).tile);
      a().tiles *= loop(i).tiles;
    }
    s_.clusters = static_cast<int>(std::min<int64_t>(clusters, a().tiles));
    s_.cores = cores_per_cluster;
    if (s_.walk != Walk::cluster_tiles)
      s_.cores =
          static_cast<int>(std::min<int64_t>(cores_per_cluster, ceil_div(a().tiles, s_.clusters)));
  }

  Schedule s_;
  Room room_;
  bool fits_ = true;
  int64_t useful_limit_ = 0, span_ = 0, bursts_ = 0;
};

}  // namespace

Schedule make_schedule(const RearrangePlan& plan, Walk walk, int device_clusters) {
  return Builder(plan, walk, device_clusters).result();
}

const char* walk_name(Walk walk) {
  switch (walk) {
    case Walk::rows: return "rows";
    case Walk::cluster_tiles: return "cluster_tiles";
    case Walk::core_tiles: break;
  }
  return "core_tiles";
}

std::string to_string(const Schedule& schedule) {
  const TileArguments& a = schedule.arguments;
  std::ostringstream text;
  text << schedule.clusters << "x" << schedule.cores << " cores, " << a.tiles << " tiles of ";
  for (int i = 0; i < a.depth; ++i) text << (i ? "x" : "") << a.loops[i].tile;
  text << " words of " << a.unit << " B, mean burst " << static_cast<int64_t>(schedule.mean_burst)
       << " B";
  if (schedule.reads_gaps) text << ", reads gaps";
  if (schedule.outer_depth) text << ", " << schedule.outer_depth << " loops on the host";
  return text.str();
}

}  // namespace infini::kunlun
