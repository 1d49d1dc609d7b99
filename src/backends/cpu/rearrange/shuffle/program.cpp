// Making shuffle programs.
#include "backends/cpu/rearrange/shuffle/program.h"

#include <algorithm>
#include <climits>
#include <numeric>
#include <span>

#include "backends/cpu/rearrange/panels/kernels.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

struct Interval {
  int64_t begin, end;  // bytes of src
};
using Windows = std::vector<int64_t>;  // where they begin, ascending

// Where every byte of dst comes from, looked up once: to divide for each costs more than all that is done with it.
constexpr int64_t nowhere = INT64_MIN;
std::vector<int64_t> sources_of(const ShuffleTask& task) {
  std::vector<int64_t> from(static_cast<size_t>(task.bytes()), nowhere);
  const int64_t atoms = task.block_bytes / task.atom_bytes;
  const int64_t* offset = task.offsets.data();
  for (int64_t block = 0; block < task.blocks; ++block) {
    int64_t* to = from.data() + block * task.block_step;
    for (int64_t i = 0; i < atoms; ++i, ++offset)
      for (int64_t j = 0; j < task.atom_bytes; ++j) *to++ = *offset + j;
  }
  from.resize(static_cast<size_t>(task.bytes() - task.gap()));
  return from;
}

// The sources of some bytes, those that follow each other together: of each of a few streams that take turns, too, so that
// there is little to be sorted.
void find_intervals(std::span<const int64_t> from, std::vector<Interval>& found) {
  constexpr size_t streams = 8;
  found.clear();
  // The interval that the byte before went to: this one goes there, too, or to the next one, mostly. New ones in a row.
  size_t turn = 0, misses = 0;
  for (const int64_t at : from) {
    if (at == nowhere) continue;
    const auto takes = [&](size_t i) { return found[i].begin <= at && at <= found[i].end; };
    if (found.empty() || (!takes(turn) && (++turn == found.size() || !takes(turn)))) {
      turn = found.size() - (misses > streams ? 0 : std::min(found.size(), streams));
      while (turn < found.size() && !takes(turn)) ++turn;
      misses = turn == found.size() ? misses + 1 : 0;
      if (turn == found.size()) found.push_back({at, at});
    }
    found[turn].end = std::max(found[turn].end, at + 1);
  }
}

// As few windows as hold all of the intervals, which it sorts. Those that would hold them also if they began with a line of
// src do, if src and its rows do: few loads are then split between two lines, of which one may not be needed.
void cover(std::vector<Interval>& needed, int64_t width, Windows& windows) {
  std::sort(needed.begin(), needed.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  windows.clear();
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
}

size_t window_of(const Windows& windows, int64_t byte) {
  return static_cast<size_t>(std::upper_bound(windows.begin(), windows.end(), byte) -
                             windows.begin() - 1);
}

// Which of the windows the intervals need.
void find_used(const Windows& windows, const std::vector<Interval>& needed,
               std::vector<size_t>& found) {
  found.clear();
  for (const Interval& part : needed)
    for (size_t i = window_of(windows, part.begin); i <= window_of(windows, part.end - 1); ++i)
      found.push_back(i);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

// Calls body(vector, windows that hold it, those that it uses) until that is false. All of them in the same memory.
template <class Body>
void for_vectors(const std::vector<int64_t>& from, int width, bool shared, Body body) {
  const std::span<const int64_t> all(from);
  std::vector<Interval> needed;
  Windows windows;
  std::vector<size_t> picked;
  if (shared) {
    find_intervals(all, needed);
    cover(needed, width, windows);
  }
  const auto step = static_cast<size_t>(width);
  for (size_t at = 0; at < all.size(); at += step) {
    find_intervals(all.subspan(at, std::min(step, all.size() - at)), needed);
    if (shared) {
      find_used(windows, needed, picked);
    } else {
      cover(needed, width, windows);
      picked.resize(windows.size());
      std::iota(picked.begin(), picked.end(), size_t{0});
    }
    if (!body(static_cast<int64_t>(at / step), windows, picked)) return;
  }
}

// Of the vector that needs the most; more than `enough` are not counted.
int depth_of(const std::vector<int64_t>& from, int width, bool shared, int enough) {
  int depth = 0;
  for_vectors(from, width, shared, [&](int64_t, const Windows&, const std::vector<size_t>& picked) {
    depth = std::max(depth, static_cast<int>(picked.size()));
    return depth <= enough;
  });
  return depth;
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
void add_picks(ShuffleProgram& program, const std::vector<int64_t>& sources, int64_t vector,
               const Windows& windows, const std::vector<size_t>& picked) {
  const int64_t width = program.width, at = vector * width,
                count = std::min(width, static_cast<int64_t>(sources.size()) - at);
  uint8_t* tables =
      reinterpret_cast<uint8_t*>(program.tables.data()) + vector * program.depth * width;
  const size_t first = program.masks.size();
  for (int k = 0; k < program.depth; ++k)
    program.offsets.push_back(windows[picked[std::min(static_cast<size_t>(k), picked.size() - 1)]]);
  program.masks.resize(first + static_cast<size_t>(program.depth));
  uint64_t given = 0;
  size_t k = 0;  // of the window that the byte before came from
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = sources[static_cast<size_t>(at + i)];
    if (from == nowhere) continue;
    if (from < windows[picked[k]] || from >= windows[picked[k]] + width)
      k = static_cast<size_t>(
          std::lower_bound(picked.begin(), picked.end(), window_of(windows, from)) -
          picked.begin());
    program.masks[first + k] |= uint64_t{1} << i;
    tables[static_cast<int64_t>(k) * width + i] = static_cast<uint8_t>(from - windows[picked[k]]);
    given |= uint64_t{1} << i;
  }
  if (program.gap != 0) program.stores.push_back(given);
  if (width == line_bytes) pair_picks(program, first, tables);
}

}  // namespace

ShuffleCost shuffle_cost(const ShuffleTask& task, int width, int most) {
  const std::vector<int64_t> from = sources_of(task);
  const int own = depth_of(from, width, false, INT_MAX);
  if (own == 1 || own > most) return {own, false};
  const int shared = depth_of(from, width, true, own);
  return shared <= own ? ShuffleCost{shared, true} : ShuffleCost{own, false};
}

ShuffleProgram make_shuffle_program(const ShuffleTask& task, int width, const ShuffleCost& cost) {
  ShuffleProgram program;
  program.blocks = task.blocks;
  program.bytes = task.bytes();
  program.gap = task.gap();
  program.width = width;
  program.depth = cost.depth;
  program.shared = cost.shared;
  const int64_t picks = program.vectors() * program.depth;
  ShuffleProgram::Bytes nothing;
  std::fill(std::begin(nothing.byte), std::end(nothing.byte), uint8_t{128});
  program.tables.assign(static_cast<size_t>(ceil_div(picks * width, 64)), nothing);
  const std::vector<int64_t> from = sources_of(task);
  for_vectors(from, width, cost.shared,
              [&](int64_t vector, const Windows& windows, const std::vector<size_t>& picked) {
                add_picks(program, from, vector, windows, picked);
                return true;
              });
  program.reach_begin = *std::min_element(program.offsets.begin(), program.offsets.end());
  program.reach_end = *std::max_element(program.offsets.begin(), program.offsets.end()) + width;
  return program;
}

}  // namespace infini::cpu
