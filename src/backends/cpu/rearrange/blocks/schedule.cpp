// Choosing blocks.
#include "backends/cpu/rearrange/blocks/schedule.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "backends/cpu/rearrange/panels/kernels.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

using Axis = BlockSchedule::Axis;

constexpr int64_t least_src_run =
    16;  // of fewer bytes most of what is fetched for a block would not belong to it
constexpr int64_t whole_bytes = 2048;  // runs that are better whole than in parts
constexpr int64_t most_atom = 256;     // longer ones are copied

// The axes, as indices, that form one run on a side, innermost first; `gap`: bytes that may lie between its parts.
template <int64_t Loop::*step>
std::vector<size_t> chain(const std::vector<Axis>& axes, int64_t word, int64_t gap = 0) {
  std::vector<size_t> found;
  for (int64_t run = word;;) {
    const auto distance = [&](const Axis& axis) { return std::abs(axis.loop.*step) - run; };
    auto next = axes.end();
    for (auto axis = axes.begin(); axis != axes.end(); ++axis)
      if (distance(*axis) >= 0 && distance(*axis) <= gap &&
          (next == axes.end() || distance(*axis) < distance(*next)))
        next = axis;
    if (next == axes.end()) return found;
    found.push_back(static_cast<size_t>(next - axes.begin()));
    run += (next->loop.extent - 1) * std::abs(next->loop.*step);
  }
}

int64_t volume(const std::vector<Axis>& axes) {
  int64_t points = 1;
  for (const Axis& axis : axes) points *= axis.part;
  return points;
}

// Grows a block from a point.
class Growth {
 public:
  Growth(std::vector<Axis>& axes, int64_t word)
      : axes_(axes), word_(word), limit_(block_bytes / word) {}

  // Until the chain's run has so many bytes, if the limit allows it.
  void grow(const std::vector<size_t>& chain, int64_t bytes) {
    int64_t run = word_;
    for (const size_t i : chain) {
      Axis& axis = axes_[i];
      if (run >= bytes) break;
      const int64_t wanted = std::min(axis.loop.extent, ceil_div(bytes, run));
      axis.part = std::clamp(limit_ / others(axis), axis.part, std::max(wanted, axis.part));
      run *= axis.part;
      if (axis.is_split()) break;
    }
  }
  // Takes whole axes of the chain as long as its run has no more than so many bytes: where they end within lines, a
  // block twice as large costs less than lines that are written in two parts.
  void complete(const std::vector<size_t>& chain, int64_t most) {
    int64_t run = word_;
    for (const size_t i : chain) {
      Axis& axis = axes_[i];
      run *= axis.loop.extent;
      if (run > most || axis.loop.extent * others(axis) > 2 * limit_) return;
      axis.part = axis.loop.extent;
    }
  }

 private:
  int64_t others(const Axis& axis) const { return volume(axes_) / axis.part; }

  std::vector<Axis>& axes_;
  int64_t word_, limit_;  // elements
};

// Split axes in parts of nearly equal size, of whole units where there are many.
void even_out(std::vector<Axis>& axes, int64_t unit) {
  for (Axis& axis : axes) {
    if (!axis.is_split() || axis.part == 1) continue;
    const int64_t even = ceil_div(axis.loop.extent, axis.parts());
    axis.part = axis.part < unit ? even : std::min(axis.part / unit * unit, round_up(even, unit));
  }
}

// Bytes of a block that are contiguous on the side of a chain.
int64_t run_of(const std::vector<Axis>& axes, const std::vector<size_t>& chain, int64_t word) {
  int64_t run = word;
  for (const size_t i : chain) {
    run *= axes[i].part;
    if (axes[i].is_split()) break;
  }
  return run;
}

// Blocks follow each other in dst first, so that runs go on; then in src.
std::vector<Axis> in_order(const std::vector<Axis>& axes, const std::vector<size_t>& in_dst,
                           const std::vector<size_t>& in_src) {
  std::vector<size_t> order = in_dst;  // innermost first
  const auto add = [&](size_t i) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  };
  for (const size_t i : in_src) add(i);
  for (size_t i = axes.size(); i-- > 0;) add(i);
  std::vector<Axis> ordered;
  for (size_t i = order.size(); i-- > 0;) ordered.push_back(axes[order[i]]);
  return ordered;
}

}  // namespace

int64_t run_pitch(int64_t run) {
  const int64_t lines = ceil_div(run, line_bytes) + 1;
  return (lines | 1) * line_bytes;
}

std::optional<BlockSchedule> make_block_schedule(const RearrangePlan& plan) {
  if (plan.depth < 2 || plan.atom_bytes > most_atom) return std::nullopt;
  BlockSchedule schedule;
  schedule.word = plan.atom_bytes;
  schedule.dst_offset = plan.dst_offset;
  schedule.src_offset = plan.src_offset;
  for (int i = 0; i < plan.depth; ++i) schedule.axes.push_back({plan.loops[i]});
  auto& axes = schedule.axes;
  const auto in_dst = chain<&Loop::dst_step>(axes, schedule.word),
             in_src = chain<&Loop::src_step>(axes, schedule.word, most_gap);
  if (in_dst.empty() || in_src.empty() || in_dst.front() == in_src.front()) return std::nullopt;
  Growth growth(axes, schedule.word);
  growth.grow(in_src, line_bytes);
  growth.complete(in_dst, whole_bytes);
  for (int64_t bytes = 2 * line_bytes; bytes <= block_bytes; bytes *= 2) {
    growth.grow(in_dst, bytes);
    growth.grow(in_src, bytes);
  }
  even_out(axes, line_bytes / std::gcd(line_bytes, schedule.word));
  schedule.run = run_of(axes, in_dst, schedule.word);
  if (run_of(axes, in_src, schedule.word) < least_src_run) return std::nullopt;
  if (volume(axes) * schedule.word / schedule.run * run_pitch(schedule.run) > buffer_bytes)
    return std::nullopt;
  axes = in_order(axes, in_dst, in_src);
  for (const Axis& axis : axes) schedule.block_count *= axis.parts();
  return schedule;
}

std::string to_string(const BlockSchedule& schedule) {
  std::ostringstream text;
  for (const Axis& axis : schedule.axes)
    text << "axis    " << axis.part << " of " << axis.loop.extent << " (dst " << axis.loop.dst_step
         << ", src " << axis.loop.src_step << ")\n";
  text << schedule.block_count << " blocks of " << volume(schedule.axes) << " x " << schedule.word
       << " bytes in runs of " << schedule.run << " bytes";
  return text.str();
}

}  // namespace infini::cpu
