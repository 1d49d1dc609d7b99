// Counting lines: one side's loops from the innermost step outwards, fused into runs that leave no line out.
#include "plan/rearrange/memory_traffic.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/checked.h"

namespace infini {
namespace {

struct Side {
  int64_t extent, step;  // bytes, positive
};

// `count` runs of `span` bytes that begin at multiples of `grain` within a line; `dense`: without gaps.
struct Runs {
  double count = 1;
  int64_t span = 0, grain = 1;
  bool dense = true;
};

template <class Step>
Runs runs_of(const RearrangePlan& plan, int64_t line, Step step_of) {
  Side sides[max_rank];
  int depth = 0;
  for (int i = 0; i < plan.depth; ++i)
    if (const int64_t step = std::abs(step_of(plan.loops[i])); step != 0)
      sides[depth++] = {plan.loops[i].extent, step};
  std::sort(sides, sides + depth, [](const Side& a, const Side& b) { return a.step < b.step; });
  Runs runs{.span = plan.atom_bytes, .grain = line};
  for (int i = 0; i < depth; ++i) {
    const auto [extent, step] = sides[i];
    if (runs.count > 1 || step - runs.span >= line) {  // gaps of whole lines: runs of their own
      runs.count *= static_cast<double>(extent);
      runs.grain = std::gcd(runs.grain, step);
    } else {
      runs.dense &= step <= runs.span;
      runs.span = saturating_add(runs.span, saturating_mul(step, extent - 1));
    }
  }
  return runs;
}

// The mean over the places where a run can begin.
double touched_lines(const Runs& runs, int64_t line) {
  const int64_t grains = ceil_div(runs.span, runs.grain);
  return 1 + static_cast<double>((grains - 1) * runs.grain) / static_cast<double>(line);
}

double whole_lines(const Runs& runs, int64_t line) {
  if (!runs.dense) return 0;
  const int64_t grains = runs.span / runs.grain, of_line = line / runs.grain;
  return std::max(0.0, static_cast<double>(grains - of_line + 1) / static_cast<double>(of_line));
}

}  // namespace

double source_traffic(const RearrangePlan& plan, int64_t line) {
  if (plan.atom_bytes == 0) return 0;
  const Runs src = runs_of(plan, line, [](const Loop& loop) { return loop.src_step; });
  return static_cast<double>(line) * src.count * touched_lines(src, line);
}

MemoryTraffic memory_traffic(const RearrangePlan& plan, int64_t line) {
  if (plan.atom_bytes == 0) return {};
  const Runs dst = runs_of(plan, line, [](const Loop& loop) { return loop.dst_step; });
  const auto bytes = static_cast<double>(line);
  const double touched = touched_lines(dst, line);
  return {.read = source_traffic(plan, line) +
                  bytes * dst.count * (touched - std::min(touched, whole_lines(dst, line))),
          .written = bytes * dst.count * touched};
}

}  // namespace infini
