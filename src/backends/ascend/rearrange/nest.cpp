// Small algebra on nests of loops.
#include "backends/ascend/rearrange/nest.h"

#include <algorithm>

namespace infini::ascend {

Nest to_nest(const RearrangePlan& plan) {
  return {plan.atom_bytes, plan.dst_offset, plan.src_offset,
          std::vector<Loop>(plan.loops, plan.loops + plan.depth)};
}

Nest fused(Nest nest) {
  std::vector<Loop> loops;
  for (const Loop& loop : nest.loops) {
    const bool continues = !loops.empty() && loops.back().dst_step == loop.extent * loop.dst_step &&
                           loops.back().src_step == loop.extent * loop.src_step;
    if (continues)
      loops.back() = {loops.back().extent * loop.extent, loop.dst_step, loop.src_step};
    else
      loops.push_back(loop);
  }
  while (!loops.empty() && loops.back().dst_step == nest.atom_bytes &&
         loops.back().src_step == nest.atom_bytes) {
    nest.atom_bytes *= loops.back().extent;
    loops.pop_back();
  }
  nest.loops = std::move(loops);
  return nest;
}

Halves halves(const Nest& nest, bool broadcast_late) {
  Halves h{{nest.atom_bytes, 0, nest.src_offset, {}}, {nest.atom_bytes, nest.dst_offset, 0, {}}, 0};
  int64_t dense_step = nest.atom_bytes;
  for (size_t i = nest.loops.size(); i-- > 0;) {
    const Loop& loop = nest.loops[i];
    const bool skipped = broadcast_late && loop.src_step == 0;
    if (!skipped)
      h.gather.loops.insert(h.gather.loops.begin(), {loop.extent, dense_step, loop.src_step});
    h.scatter.loops.insert(h.scatter.loops.begin(),
                           {loop.extent, loop.dst_step, skipped ? 0 : dense_step});
    if (!skipped) dense_step *= loop.extent;
  }
  h.dense_bytes = dense_step;
  h.gather = fused(h.gather);
  h.scatter = fused(h.scatter);
  return h;
}

Nest all_forward(Nest nest) {
  for (Loop& loop : nest.loops) {
    if (loop.src_step >= 0) continue;
    nest.src_offset += loop.src_step * (loop.extent - 1);
    loop.src_step = -loop.src_step;
  }
  return nest;
}

bool any_negative(const Nest& nest) {
  return std::any_of(nest.loops.begin(), nest.loops.end(),
                     [](const Loop& l) { return l.src_step < 0; });
}

bool any_broadcast(const Nest& nest) {
  return std::any_of(nest.loops.begin(), nest.loops.end(),
                     [](const Loop& l) { return l.src_step == 0; });
}

bool is_flat(const Nest& nest) { return nest.loops.empty(); }

bool divides(int64_t element, const Nest& nest) {
  return nest.atom_bytes % element == 0 &&
         std::all_of(nest.loops.begin(), nest.loops.end(), [&](const Loop& l) {
           return l.dst_step % element == 0 && l.src_step % element == 0;
         });
}

int64_t largest_element(const Nest& nest, int64_t alignment) {
  int64_t element = alignment;
  while (!divides(element, nest)) element /= 2;
  return element;
}

int operator_rank(const Nest& nest, size_t outer, int64_t element) {
  return static_cast<int>(nest.loops.size() - outer) + (nest.atom_bytes > element ? 1 : 0);
}

}  // namespace infini::ascend
