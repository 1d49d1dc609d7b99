// Making shuffle programs.
#include "backends/cpu/rearrange/shuffle/program.h"

#include <algorithm>

#include "backends/cpu/rearrange/panels/kernels.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

struct Interval {
  int64_t begin, end;  // bytes of src
};
using Windows = std::vector<int64_t>;  // where they begin, ascending

// The sources of bytes begin .. end of dst.
std::vector<Interval> sources_of(const ShuffleTask& task, int64_t begin, int64_t end) {
  std::vector<Interval> found;
  for (int64_t at = begin; at < end;) {
    const auto [from, count] = task.source_of(at);
    if (count == 0) {
      at += task.block_step - at % task.block_step;
      continue;
    }
    const int64_t now = std::min(count, end - at);
    const bool again =
        !found.empty() && found.back().begin <= from && from + now <= found.back().end;
    if (!found.empty() && found.back().end == from)
      found.back().end += now;
    else if (!again)
      found.push_back({from, from + now});
    at += now;
  }
  return found;
}

// As few windows as hold all of the intervals. Those that would hold them also if they began with a line of src do,
// if src and its rows do: few loads are then split between two lines, of which one may not be needed.
Windows cover(std::vector<Interval> needed, int64_t width) {
  std::sort(needed.begin(), needed.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Windows windows;
  int64_t last = 0;  // the byte behind the ones that are needed of the last window
  const auto align = [&] {
    const int64_t down = windows.back() - ((windows.back() % width) + width) % width;
    if (last <= down + width &&
        (windows.size() == 1 || windows[windows.size() - 2] + width <= down))
      windows.back() = down;
  };
  for (Interval part : needed)
    while (part.begin < part.end) {
      if (windows.empty() || part.begin >= windows.back() + width) {
        if (!windows.empty()) align();
        windows.push_back(part.begin);
        last = part.begin;
      }
      part.begin = std::min(part.end, windows.back() + width);
      last = std::max(last, part.begin);
    }
  align();
  return windows;
}

size_t window_of(const Windows& windows, int64_t byte) {
  return static_cast<size_t>(std::upper_bound(windows.begin(), windows.end(), byte) -
                             windows.begin() - 1);
}

// Which of the windows the intervals need.
std::vector<size_t> used(const Windows& windows, const std::vector<Interval>& needed) {
  std::vector<size_t> found;
  for (const Interval& part : needed)
    for (size_t i = window_of(windows, part.begin); i <= window_of(windows, part.end - 1); ++i)
      found.push_back(i);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Calls body(vector, windows that hold it, those that it uses).
template <class Body>
void for_vectors(const ShuffleTask& task, int width, bool shared, Body body) {
  const int64_t bytes = task.bytes() - task.gap();
  const Windows common = shared ? cover(sources_of(task, 0, bytes), width) : Windows();
  for (int64_t at = 0; at < bytes; at += width) {
    const auto needed = sources_of(task, at, std::min(bytes, at + width));
    const Windows own = shared ? Windows() : cover(needed, width);
    const Windows& windows = shared ? common : own;
    body(at / width, windows, used(windows, needed));
  }
}

int depth_with_own(const ShuffleTask& task, int width) {
  size_t depth = 0;
  const int64_t bytes = task.bytes() - task.gap();
  for (int64_t at = 0; at < bytes; at += width)
    depth = std::max(depth, cover(sources_of(task, at, std::min(bytes, at + width)), width).size());
  return static_cast<int>(depth);
}

int depth_with_shared(const ShuffleTask& task, int width) {
  size_t depth = 0;
  for_vectors(task, width, true, [&](int64_t, const Windows&, const std::vector<size_t>& picked) {
    depth = std::max(depth, picked.size());
  });
  return static_cast<int>(depth);
}

// Permutations of two windows at once: what the second pick of a pair gives the first one knows, too.
void pair_picks(const ShuffleProgram& program, size_t first, uint8_t* tables) {
  const int64_t width = program.width;
  for (int k = 0; k + 1 < program.depth; k += 2)
    for (int64_t i = 0; i < width; ++i)
      if (program.masks[first + static_cast<size_t>(k) + 1] >> i & 1)
        tables[k * width + i] = static_cast<uint8_t>(width + tables[(k + 1) * width + i]);
}

// One vector: a pick for each window that it uses, then picks of nothing.
void add_picks(ShuffleProgram& program, const ShuffleTask& task, int64_t vector,
               const Windows& windows, const std::vector<size_t>& picked) {
  const int64_t width = program.width, at = vector * width,
                count = std::min(width, task.bytes() - task.gap() - at);
  uint8_t* tables =
      reinterpret_cast<uint8_t*>(program.tables.data()) + vector * program.depth * width;
  const size_t first = program.masks.size();
  for (int k = 0; k < program.depth; ++k)
    program.offsets.push_back(windows[picked[std::min(static_cast<size_t>(k), picked.size() - 1)]]);
  program.masks.resize(first + static_cast<size_t>(program.depth));
  uint64_t given = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto [from, known] = task.source_of(at + i);
    if (known == 0) continue;
    const size_t window = window_of(windows, from);
    const auto k = static_cast<size_t>(std::lower_bound(picked.begin(), picked.end(), window) -
                                       picked.begin());
    program.masks[first + k] |= uint64_t{1} << i;
    tables[static_cast<int64_t>(k) * width + i] = static_cast<uint8_t>(from - windows[window]);
    given |= uint64_t{1} << i;
  }
  if (task.gap() != 0) program.stores.push_back(given);
  if (width == line_bytes) pair_picks(program, first, tables);
}

}  // namespace

ShuffleCost shuffle_cost(const ShuffleTask& task, int width, int most) {
  const int own = depth_with_own(task, width);
  if (own == 1 || own > most) return {own, false};
  const int shared = depth_with_shared(task, width);
  return shared <= own ? ShuffleCost{shared, true} : ShuffleCost{own, false};
}

ShuffleProgram make_shuffle_program(const ShuffleTask& task, int width, const ShuffleCost& cost) {
  ShuffleProgram program;
  program.blocks = task.blocks;
  program.bytes = task.bytes();
  program.gap = task.gap();
  program.width = width;
  program.depth = cost.depth;
  const int64_t picks = program.vectors() * program.depth;
  ShuffleProgram::Bytes nothing;
  std::fill(std::begin(nothing.byte), std::end(nothing.byte), uint8_t{128});
  program.tables.assign(static_cast<size_t>(ceil_div(picks * width, 64)), nothing);
  for_vectors(task, width, cost.shared,
              [&](int64_t vector, const Windows& windows, const std::vector<size_t>& picked) {
                add_picks(program, task, vector, windows, picked);
              });
  program.reach_begin = *std::min_element(program.offsets.begin(), program.offsets.end());
  program.reach_end = *std::max_element(program.offsets.begin(), program.offsets.end()) + width;
  return program;
}

}  // namespace infini::cpu
