// Meeting parts, by sweeps: intervals against intervals, or a coarse side's intervals against a fine side's turns.
#include "plan/reshard/overlap.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"

namespace infini {
namespace {

// Part `part` of the fine side between two indexes: a partial block, whole blocks in turns, a partial block.
struct Stretch {
  int64_t begin, length, count;  // `count` stretches of `length` elements, a turn apart
};

int stretches_of(const Cut& fine, int part, int64_t begin, int64_t end, Stretch* out) {
  const int64_t block = fine.block, turn = fine.turn(), at = part * block;
  // The first block whose end lies behind `begin`, and the last that starts before `end`.
  int64_t first = begin < at + block ? at : at + ceil_div(begin - at - block + 1, turn) * turn;
  if (first >= end) return 0;
  int64_t last = first + (end - 1 - first) / turn * turn;
  int found = 0;
  if (first < begin || (first == last && last + block > end)) {
    const int64_t from = std::max(first, begin);
    out[found++] = {from, std::min(first + block, end) - from, 1};
    first += turn;
  }
  if (first > last) return found;
  const bool partial = last + block > end;
  const int64_t whole = (last - first) / turn + (partial ? 0 : 1);
  if (whole > 0) out[found++] = {first, block, whole};
  if (partial) out[found++] = {last, end - last, 1};
  return found;
}

void add_level(Pattern& pattern, int64_t extent, int64_t dst_stride, int64_t src_stride) {
  if (extent > 1) pattern.levels[pattern.depth++] = {extent, dst_stride, src_stride};
}

bool same_levels(const Pattern& a, const Pattern& b) {
  return a.depth == b.depth &&
         std::equal(a.levels, a.levels + a.depth, b.levels, [](const Level& x, const Level& y) {
           return x.extent == y.extent && x.dst_stride == y.dst_stride &&
                  x.src_stride == y.src_stride;
         });
}

// One more level, in its place by stride: the wire then follows the memory.
void repeat(Pattern& pattern, int64_t times, int64_t dst_stride, int64_t src_stride) {
  if (times == 1) return;
  int place = pattern.depth++;
  for (; place > 0 && pattern.levels[place - 1].dst_stride < dst_stride; --place)
    pattern.levels[place] = pattern.levels[place - 1];
  pattern.levels[place] = {times, dst_stride, src_stride};
}

// Neighbours of one form whose starts are equally far apart become one pattern with one more level.
void merge_progressions(std::vector<Pattern>& patterns, size_t begin) {
  size_t kept = begin;
  for (size_t i = begin; i < patterns.size();) {
    const Pattern first = patterns[i];
    size_t next = i + 1;
    int64_t dst = 0, src = 0;
    for (; next < patterns.size() && same_levels(patterns[next], first); ++next) {
      const int64_t dst_apart = patterns[next].dst_start - patterns[next - 1].dst_start;
      const int64_t src_apart = patterns[next].src_start - patterns[next - 1].src_start;
      if (next == i + 1) dst = dst_apart, src = src_apart;
      if (dst_apart != dst || src_apart != src) break;
    }
    if (first.depth == Pattern::max_depth) next = i + 1;
    patterns[kept] = first;
    repeat(patterns[kept++], static_cast<int64_t>(next - i), dst, src);
    i = next;
  }
  patterns.resize(kept);
}

}  // namespace

int64_t element_count(const Pattern& pattern) {
  int64_t count = 1;
  for (int i = 0; i < pattern.depth; ++i) count *= pattern.levels[i].extent;
  return count;
}

Overlap::Overlap(const Cut& destination, const Cut& source)
    : destination_(destination), source_(source) {
  std::vector<Shared> shared;
  if (destination_.cyclic() || source_.cyclic())
    sweep_cyclic(shared);
  else
    sweep_intervals(shared);
  fill(by_source_, source_.parts, shared, true);
  fill(by_destination_, destination_.parts, shared, false);
}

// Intervals are coarse; of two cyclic sides the one with the longer blocks.
bool Overlap::source_is_coarse() const {
  return !source_.cyclic() || (destination_.cyclic() && source_.block > destination_.block);
}

// After so many elements both sides begin anew; the whole dim where one side has no turns.
int64_t Overlap::period() const {
  if (!source_.cyclic() || !destination_.cyclic()) return source_.size;
  const int64_t a = source_.turn(), b = destination_.turn();
  return std::min(source_.size, saturating_mul(a / std::gcd(a, b), b));
}

void Overlap::sweep_intervals(std::vector<Shared>& shared) const {
  int source = 0, destination = 0;
  while (source < source_.parts && destination < destination_.parts) {
    const int64_t source_end = source_.bounds[static_cast<size_t>(source) + 1];
    const int64_t destination_end = destination_.bounds[static_cast<size_t>(destination) + 1];
    const int64_t begin = std::max(source_.bounds[static_cast<size_t>(source)],
                                   destination_.bounds[static_cast<size_t>(destination)]);
    const int64_t end = std::min(source_end, destination_end);
    if (end > begin) shared.push_back({source, destination, end - begin});
    if (source_end <= destination_end)
      ++source;
    else
      ++destination;
  }
}

// visit(part, begin, end, times) for the intervals of the coarse side: those of one period with the number of whole periods,
// then those of what is left.
template <class Visit>
void Overlap::coarse_intervals(int only_part, Visit&& visit) const {
  const Cut& coarse = source_is_coarse() ? source_ : destination_;
  const int first = std::max(only_part, 0), last = only_part < 0 ? coarse.parts - 1 : only_part;
  if (!coarse.cyclic()) {
    for (int part = first; part <= last; ++part)
      visit(part, coarse.bounds[static_cast<size_t>(part)],
            coarse.bounds[static_cast<size_t>(part) + 1], int64_t{1});
    return;
  }
  const int64_t length = period(), times = length > 0 ? coarse.size / length : 0;
  const auto walk = [&](int64_t begin, int64_t end, int64_t repeated) {
    for (int64_t turn = begin; turn < end; turn += coarse.turn())
      for (int part = first; part <= last && turn + part * coarse.block < end; ++part)
        visit(part, turn + part * coarse.block, std::min(end, turn + (part + 1) * coarse.block),
              repeated);
  };
  walk(0, length, times);
  walk(times * length, coarse.size, 1);
}

void Overlap::sweep_cyclic(std::vector<Shared>& shared) const {
  const bool swapped = source_is_coarse();
  const Cut& fine = swapped ? destination_ : source_;
  size_t compacted = 0;
  const auto compact = [&] {
    std::sort(shared.begin(), shared.end(), [](const Shared& a, const Shared& b) {
      return a.source != b.source ? a.source < b.source : a.destination < b.destination;
    });
    size_t kept = 0;
    for (const Shared& one : shared) {
      if (kept > 0 && shared[kept - 1].source == one.source &&
          shared[kept - 1].destination == one.destination)
        shared[kept - 1].count += one.count;
      else
        shared[kept++] = one;
    }
    shared.resize(compacted = kept);
  };
  coarse_intervals(-1, [&](int part, int64_t begin, int64_t end, int64_t times) {
    if (begin >= end) return;
    const int64_t blocks =
        std::min<int64_t>(fine.parts, (end - 1) / fine.block - begin / fine.block + 1);
    for (int64_t i = 0; i < blocks; ++i) {
      const int other = static_cast<int>((begin / fine.block + i) % fine.parts);
      const int64_t count =
          (fine.count_before(other, end) - fine.count_before(other, begin)) * times;
      shared.push_back(swapped ? Shared{part, other, count} : Shared{other, part, count});
    }
    if (shared.size() > 2 * compacted + (1 << 20)) compact();
  });
  compact();
}

void Overlap::fill(Table& table, int parts, const std::vector<Shared>& shared,
                   bool by_source) const {
  const auto key = [&](const Shared& one) {
    return static_cast<size_t>(by_source ? one.source : one.destination);
  };
  table.first.assign(static_cast<size_t>(parts) + 1, 0);
  for (const Shared& one : shared) ++table.first[key(one) + 1];
  std::partial_sum(table.first.begin(), table.first.end(), table.first.begin());
  table.meetings.resize(shared.size());
  std::vector<size_t> next(table.first.begin(), table.first.end() - 1);
  for (const Shared& one :
       shared) {  // ascending by source, then by destination: so is every row of either table
    const size_t place = next[key(one)]++;
    const bool begins = place == table.first[key(one)];
    const int64_t before =
        begins ? 0 : table.meetings[place - 1].before + table.meetings[place - 1].count;
    table.meetings[place] = {by_source ? one.destination : one.source, one.count, before};
  }
}

std::span<const Meeting> Overlap::row(const Table& table, int part) {
  const size_t first = table.first[static_cast<size_t>(part)];
  return {table.meetings.data() + first, table.first[static_cast<size_t>(part) + 1] - first};
}

Meeting Overlap::meeting(int source, int destination) const {
  const auto meetings = of_source(source);
  const auto found =
      std::lower_bound(meetings.begin(), meetings.end(), destination,
                       [](const Meeting& meeting, int part) { return meeting.part < part; });
  if (found == meetings.end() || found->part != destination) return {destination, 0, 0};
  return *found;
}

void Overlap::append_patterns(int source, int destination, std::vector<Pattern>& out) const {
  if (!source_.cyclic() && !destination_.cyclic()) {
    const auto at = [](const Cut& cut, int part) { return cut.bounds[static_cast<size_t>(part)]; };
    const int64_t begin = std::max(at(source_, source), at(destination_, destination));
    const int64_t end = std::min(at(source_, source + 1), at(destination_, destination + 1));
    if (begin >= end) return;
    Pattern pattern{begin - at(destination_, destination), begin - at(source_, source), 0, {}};
    add_level(pattern, end - begin, 1, 1);
    return out.push_back(pattern);
  }
  const size_t first = out.size();
  append_cyclic_patterns(source, destination, out);
  merge_progressions(out, first);
}

void Overlap::append_cyclic_patterns(int source, int destination, std::vector<Pattern>& out) const {
  const bool swapped = source_is_coarse();
  const Cut& fine = swapped ? destination_ : source_;
  const int64_t length = period(), times = length > 0 ? source_.size / length : 0;
  const int64_t dst_apart = length / destination_.parts, src_apart = length / source_.parts;
  const size_t first = out.size();
  size_t once = first;  // behind it: the patterns of what whole periods leave
  coarse_intervals(swapped ? source : destination, [&](int, int64_t begin, int64_t end, int64_t) {
    Stretch found[3];
    const int count = stretches_of(fine, swapped ? destination : source, begin, end, found);
    for (int i = 0; i < count; ++i) {
      Pattern pattern{
          destination_.local_index(found[i].begin), source_.local_index(found[i].begin), 0, {}};
      add_level(pattern, found[i].count, swapped ? fine.block : fine.turn(),
                swapped ? fine.turn() : fine.block);
      add_level(pattern, found[i].length, 1, 1);
      out.push_back(pattern);
    }
    if (begin < times * length) once = out.size();
  });
  // What is left begins as a period does: what is whole in it is one repetition more.
  size_t rest = once;
  for (size_t i = first; i < once; ++i) {
    const bool again = rest < out.size() && same_levels(out[i], out[rest]) &&
                       out[rest].dst_start == out[i].dst_start + times * dst_apart &&
                       out[rest].src_start == out[i].src_start + times * src_apart;
    rest += again ? 1 : 0;
    repeat(out[i], times + (again ? 1 : 0), dst_apart, src_apart);
  }
  out.erase(out.begin() + static_cast<ptrdiff_t>(once), out.begin() + static_cast<ptrdiff_t>(rest));
}

}  // namespace infini
