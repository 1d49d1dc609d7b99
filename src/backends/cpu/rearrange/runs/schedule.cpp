// Making line schedules.
#include "backends/cpu/rearrange/runs/schedule.h"

#include <algorithm>
#include <sstream>

#include "backends/cpu/rearrange/panels/kernels.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

constexpr int64_t most_word = 16;
constexpr int64_t least_streamed_run = 512,
                  least_streamed_copy = 128;  // unless runs are whole lines
constexpr int64_t least_seamed = 128;         // shorter runs but copies are left to plain loops
constexpr int64_t least_joined = 40, most_joined = 1536;  // longer rows are streamed side by side
constexpr int64_t rows_side_by_side = 16, least_rows_side_by_side = 4, least_far = 2 << 10;
constexpr int64_t shared_pieces = 16;  // of a piece: what several runs read again stays in L1
constexpr int64_t spread_pieces = 64;  // at once, in eight parts, each of them many pages
constexpr int64_t least_piece = 512;   // kernels are chosen by the length of pieces

// How many words a step counts, or 0 when that is not 2 .. max_ways.
int64_t ways_of(int64_t step, int64_t word) {
  return step % word == 0 && step / word >= 2 && step / word <= max_ways ? step / word : 0;
}

// Takes the innermost `depth` loops as the run.
void take_run(const RearrangePlan& plan, RunSchedule& schedule, LineKind kind, int depth) {
  schedule.kind = kind;
  schedule.word = plan.atom_bytes;
  schedule.count = 1;
  for (int i = plan.depth - depth; i < plan.depth; ++i) schedule.count *= plan.loops[i].extent;
  schedule.outer.assign(plan.loops, plan.loops + plan.depth - depth);
}

// A few planes woven into one run: words so close together that no register transpose pays.
bool take_weave(const RearrangePlan& plan, RunSchedule& schedule) {
  if (plan.depth < 2) return false;
  const Loop &planes = plan.loops[plan.depth - 1], &along = plan.loops[plan.depth - 2];
  const int64_t word = plan.atom_bytes, group = planes.extent * word;
  if (planes.dst_step != word || planes.extent > max_ways || group >= 16) return false;
  if (along.dst_step != group || along.src_step != word) return false;
  take_run(plan, schedule, LineKind::weave, 2);
  schedule.ways = planes.extent;
  schedule.plane_step = planes.src_step;
  return true;
}

// Every so many words of src.
bool take_step(const RearrangePlan& plan, RunSchedule& schedule) {
  const Loop& inner = plan.loops[plan.depth - 1];
  const int64_t ways = ways_of(inner.src_step, plan.atom_bytes);
  if (inner.dst_step != plan.atom_bytes || ways == 0) return false;
  take_run(plan, schedule, LineKind::step, 1);
  schedule.ways = ways;
  return true;
}

bool take_words(const RearrangePlan& plan, RunSchedule& schedule) {
  const Loop& inner = plan.loops[plan.depth - 1];
  const int64_t word = plan.atom_bytes;
  if (word != 1 && word != 2 && word != 4 && word != 8 && word != 16) return false;
  if (take_weave(plan, schedule) || take_step(plan, schedule)) return true;
  if (inner.dst_step == word && inner.src_step == 0) {
    take_run(plan, schedule, LineKind::fill, 1);
  } else if (inner.dst_step == word && inner.src_step == -word) {
    take_run(plan, schedule, LineKind::flip, 1);
  } else if (inner.src_step == word && ways_of(inner.dst_step, word) != 0) {
    take_run(plan, schedule, LineKind::spread, 1);
    schedule.ways = ways_of(inner.dst_step, word);
  } else {
    return false;
  }
  return true;
}

bool take_any(const RearrangePlan& plan, RunSchedule& schedule) {
  if (plan.depth > 0 && plan.atom_bytes <= most_word) return take_words(plan, schedule);
  schedule.kind = LineKind::copy;
  schedule.count = plan.atom_bytes;
  schedule.outer.assign(plan.loops, plan.loops + plan.depth);
  return true;
}

// Runs that share their source lines are walked piece by piece, all of them for each piece.
void take_near(RunSchedule& schedule) {
  const int64_t row = schedule.count * schedule.word;
  const bool alone =
      row >= least_streamed_run || schedule.outer.size() == 1;  // else dst's order comes first
  const int64_t reach = schedule.kind == LineKind::step            ? schedule.ways * schedule.word
                        : schedule.kind == LineKind::copy && alone ? 1
                                                                   : 0;
  const auto near =
      std::stable_partition(schedule.outer.begin(), schedule.outer.end(),
                            [&](const Loop& loop) { return magnitude(loop.src_step) >= reach; });
  schedule.near.assign(near, schedule.outer.end());
  schedule.outer.erase(near, schedule.outer.end());
  for (const Loop& loop : schedule.outer) schedule.outer_count *= loop.extent;
  for (const Loop& loop : schedule.near) schedule.near_count *= loop.extent;
}

// The largest divisor of `extent` that leaves at least `tasks` parts.
int64_t divisor_leaving(int64_t extent, int64_t tasks) {
  for (int64_t parts = std::max<int64_t>(tasks, 1); parts < extent && parts < 64 * tasks; ++parts)
    if (extent % parts == 0) return extent / parts;
  return 1;
}

// Where runs that share their source are nearly all there is (a row for every row of dst), the threads divide them.
void share_near(RunSchedule& schedule, int threads) {
  const int64_t wanted = 4 * threads;
  if (schedule.near.empty() || threads == 1 || schedule.tasks() >= wanted) return;
  const auto longest =
      std::max_element(schedule.near.begin(), schedule.near.end(),
                       [](const Loop& a, const Loop& b) { return a.extent < b.extent; });
  const Loop loop = *longest;
  const int64_t kept = divisor_leaving(loop.extent, ceil_div(wanted, schedule.tasks())),
                parts = loop.extent / kept;
  schedule.outer.push_back({parts, loop.dst_step * kept, loop.src_step * kept});
  schedule.outer_count *= parts;
  schedule.near_count /= parts;
  if (kept == 1)
    schedule.near.erase(longest);
  else
    longest->extent = kept;
}

// The largest divisor of `extent` that is at most `most`.
int64_t divisor_up_to(int64_t extent, int64_t most) {
  while (extent % most != 0) --most;
  return most;
}

void sort_by_source(std::vector<Loop>& loops) {
  std::stable_sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return magnitude(a.src_step) > magnitude(b.src_step);
  });
}

// Rows that join in dst but lie far apart in src: a few of them at a time, and then those beside them, whose pages
// are known and which the hardware already fetches.
void take_far_rows(RunSchedule& schedule) {
  const Loop inner = schedule.outer.back();
  const int64_t taken = divisor_up_to(inner.extent, rows_side_by_side);
  if (magnitude(inner.src_step) < least_far || taken < least_rows_side_by_side) return;
  schedule.outer.back() = {inner.extent / taken, inner.dst_step * taken, inner.src_step * taken};
  schedule.outer_count /= taken;
  schedule.repeat = {taken, inner.dst_step, inner.src_step};
  sort_by_source(schedule.outer);
}

// The innermost loop goes to the kernel, or as much of it as the threads can spare.
void take_repeat(RunSchedule& schedule, int threads) {
  const bool shared = !schedule.near.empty();
  auto& loops = shared ? schedule.near : schedule.outer;
  if (loops.empty() || (!shared && schedule.pieces() > 1)) return;
  const Loop inner = loops.back();
  const int64_t others = schedule.outer_count / inner.extent;
  const bool whole = shared || threads == 1 || others >= 4 * threads;
  const int64_t taken =
      whole ? inner.extent : std::max<int64_t>(1, inner.extent / ceil_div(4 * threads, others));
  if (taken == 1) return;
  const int64_t parts = ceil_div(inner.extent, taken);
  schedule.repeat = {taken, inner.dst_step, inner.src_step};
  schedule.last_repeat = inner.extent - (parts - 1) * taken;
  loops.pop_back();
  if (parts > 1) loops.push_back({parts, inner.dst_step * taken, inner.src_step * taken});
  auto& count = shared ? schedule.near_count : schedule.outer_count;
  count = count / inner.extent * parts;
}

// Puts the loop over rows that join in dst last, if there is one and they do not join at the ends of lines.
bool bring_joining_rows_last(RunSchedule& schedule) {
  const int64_t row = schedule.count * schedule.word;
  auto& loops = schedule.near.empty() ? schedule.outer : schedule.near;
  const auto joining = std::find_if(loops.begin(), loops.end(),
                                    [&](const Loop& loop) { return loop.dst_step == row; });
  // Fills read next to nothing and near rows the same, so that any order will do; others are better read in src's where they are long.
  const bool any_length = schedule.kind == LineKind::fill ||
                          (schedule.kind == LineKind::step && !schedule.near.empty());
  const bool fits =
      row % line_bytes != 0 && row >= least_joined && (row < most_joined || any_length);
  if (schedule.kind == LineKind::spread || !fits || joining == loops.end()) return false;
  std::rotate(joining, joining + 1, loops.end());
  return true;
}

// Pieces of whole lines, none of them much shorter than the others: kernels are chosen by their length.
int64_t choose_piece(const RunSchedule& schedule, int threads, int64_t piece_bytes) {
  const int64_t shared = piece_bytes / shared_pieces / schedule.ways,
                unit = line_bytes / schedule.word, count = schedule.count;
  const int64_t spread = std::clamp(schedule.outer_count * count * schedule.word / (4 * threads),
                                    piece_bytes, spread_pieces * piece_bytes);
  const int64_t alone = schedule.kind == LineKind::spread ? spread : piece_bytes;
  const int64_t bytes = std::max(schedule.near_count > 1 ? shared : alone, least_piece);
  const int64_t pieces = std::max<int64_t>(1, count * schedule.word / bytes);
  int64_t piece = round_up(ceil_div(count, pieces), unit);
  while (piece < count && count % piece > 0 && count % piece < 4 * unit) piece += unit;
  return std::min(count, piece);
}

}  // namespace

std::optional<RunSchedule> make_run_schedule(const RearrangePlan& plan, const Policy& policy) {
  RunSchedule schedule;
  schedule.dst_offset = plan.dst_offset;
  schedule.src_offset = plan.src_offset;
  schedule.places = policy.copy_places;
  if (policy.copy_places == 1) schedule.ahead = policy.copy_ahead;
  if (!take_any(plan, schedule)) return std::nullopt;
  const int64_t run_bytes = schedule.count * schedule.word;
  take_near(schedule);
  const bool large = beyond_caches(plan, policy);
  const int64_t least_streamed =
      schedule.kind == LineKind::copy ? least_streamed_copy : least_streamed_run;
  const bool streams = run_bytes >= least_streamed || run_bytes % line_bytes == 0;
  // Streaming stores do not care for their order, reads do.
  if (large && streams) sort_by_source(schedule.outer);
  const bool joining = large && bring_joining_rows_last(schedule);
  const int threads = threads_for(moved_bytes(plan), policy);
  schedule.piece = choose_piece(schedule, threads, policy.piece_bytes);
  share_near(schedule, threads);
  const bool copies = schedule.kind == LineKind::copy;
  if (joining && copies && schedule.near.empty() && schedule.outer.size() > 1)
    take_far_rows(schedule);
  if (schedule.repeat.extent == 1) take_repeat(schedule, threads);
  // Copies that join are put together row by row, and rows are not divided.
  schedule.joined = joining && (copies ? schedule.pieces() == 1 : run_bytes >= least_seamed) &&
                    schedule.repeat.extent > 1 && schedule.repeat.dst_step == run_bytes;
  schedule.streamed = large && (streams || schedule.joined);
  return schedule;
}

const char* kind_name(LineKind kind) {
  static constexpr const char* names[] = {"copy", "fill", "flip", "step", "weave", "spread"};
  return names[static_cast<int>(kind)];
}

std::string to_string(const RunSchedule& schedule) {
  std::ostringstream text;
  print_loops(text, "outer", schedule.outer);
  if (!schedule.near.empty()) print_loops(text, "near ", schedule.near);
  if (schedule.repeat.extent > 1) print_loops(text, "again", {schedule.repeat});
  text << schedule.tasks() << " tasks, each a " << kind_name(schedule.kind);
  if (schedule.ways > 1) text << " by " << schedule.ways;
  text << " of " << schedule.piece << " x " << schedule.word << " bytes"
       << (schedule.joined ? ", joined" : "") << (schedule.streamed ? ", streamed" : ", cached");
  return text.str();
}

}  // namespace infini::cpu
