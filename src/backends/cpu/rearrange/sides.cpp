// Finding the two sides of a transposition.
#include "backends/cpu/rearrange/sides.h"

#include <algorithm>
#include <numeric>
#include <ostream>

namespace infini::cpu {
namespace {

int64_t dst_alignment(const Sides& sides) {
  int64_t alignment = line_bytes;
  for (const auto* loops : {&sides.columns, &sides.outer})
    for (const Loop& loop : *loops) alignment = std::gcd(alignment, loop.dst_step);
  return alignment;
}

}  // namespace

Collector::Collector(const RearrangePlan& plan, Sides& sides)
    : loops_(plan.loops, plan.loops + plan.depth), sides_(sides) {
  sides_.word = plan.atom_bytes;
  sides_.dst_offset = plan.dst_offset;
  sides_.src_offset = plan.src_offset;
}

bool Collector::grow_rows() {
  return take([&](const Loop& loop) { return loop.dst_step == sides_.row_bytes(); }, sides_.rows,
              sides_.row_count);
}

bool Collector::grow_columns() {
  const bool grown =
      take([&](const Loop& loop) { return magnitude(loop.src_step) == sides_.column_bytes(); },
           sides_.columns, sides_.column_count);
  if (grown) make_src_ascending(sides_.columns.back());
  return grown;
}

void Collector::leave_rest() {
  sides_.outer = loops_;
  for (const Loop& loop : loops_) sides_.outer_count *= loop.extent;
  sides_.alignment = dst_alignment(sides_);
}

template <class Fits>
bool Collector::take(Fits fits, std::vector<Loop>& side, int64_t& count) {
  const auto found = std::find_if(loops_.begin(), loops_.end(), fits);
  if (found == loops_.end()) return false;
  side.push_back(*found);
  count *= found->extent;
  loops_.erase(found);
  return true;
}

// Walking a reversed run from its other end makes it an ascending one.
void Collector::make_src_ascending(Loop& loop) {
  if (loop.src_step >= 0) return;
  sides_.dst_offset += (loop.extent - 1) * loop.dst_step;
  sides_.src_offset += (loop.extent - 1) * loop.src_step;
  loop.dst_step = -loop.dst_step;
  loop.src_step = -loop.src_step;
}

bool columns_beyond_caches(const RearrangePlan& plan, const Policy& policy) {
  constexpr int few_threads = 4;
  Policy nearer = policy;
  if (policy.tile_streamed_bytes != 0) {
    nearer.streamed_bytes = policy.tile_streamed_bytes;
    return beyond_caches(plan, nearer);
  }
  if (policy.pairs)
    nearer.streamed_bytes /= threads_for(moved_bytes(plan), policy) > few_threads ? 4 : 2;
  return beyond_caches(plan, nearer);
}

int64_t even_part(int64_t count, int64_t limit, int64_t unit) {
  const int64_t parts = ceil_div(count, limit);
  return std::min({round_up(ceil_div(count, parts), unit), limit, count});
}

void print_sides(std::ostream& text, const Sides& sides) {
  print_loops(text, "outer  ", sides.outer);
  print_loops(text, "rows   ", sides.rows);
  print_loops(text, "columns", sides.columns);
}

}  // namespace infini::cpu
