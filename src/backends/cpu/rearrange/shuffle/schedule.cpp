// Making shuffle schedules: which loop walks along, and how many of its blocks are one period.
#include "backends/cpu/rearrange/shuffle/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/shuffle/program.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

constexpr int64_t most_block_bytes = 1024, most_gapped_block = 128;
constexpr int64_t enough_period_bytes = 1 << 10;
constexpr int64_t most_tables = 16 << 10;  // the program stays in L1 beside what it reads and makes
constexpr int64_t ahead_bytes = 2 << 10;   // at least
constexpr int64_t most_near_bytes = 16 << 10;
constexpr int64_t least_far = 2 << 10, near_ahead_bytes = 256, near_blocks = 64,
                  least_piece = 1 << 10, most_piece = 8 << 10;
constexpr int most_windows = 14;
constexpr int64_t tasks_of_piece = 4;

// Cycles, roughly. A line that is copied past the cache takes 17 of them.
constexpr double cycles_of_pick = 1.6, cycles_of_vector = 3, cycles_of_period = 4,
                 cycles_of_row = 20;
constexpr double cycles_of_cut_vector =
    10;  // more, where periods end within vectors and so go through L1
constexpr double cycles_of_rest =
    2000;  // behind the last period of a row that is streamed: its lines are fetched from memory

// A way to see the plan: loop `level` walks along blocks that the loops inside of it make, `blocks` to a period.
struct View {
  int level;
  int64_t block_bytes, block_step, blocks;  // step: with the gap behind it in dst
  ShuffleCost cost;
  double cycles = INFINITY;  // of a line
  bool known = false;        // the cost is that of this very period

  bool has_gaps() const { return block_step != block_bytes; }
  bool is_whole(int width) const { return blocks * block_step % width == 0; }
};

std::vector<Loop> loops_inside(const RearrangePlan& plan, int level) {
  return {plan.loops + level + 1, plan.loops + plan.depth};
}

ShuffleTask task_of(const RearrangePlan& plan, const View& view) {
  ShuffleTask task{view.blocks, view.block_bytes, view.block_step, plan.atom_bytes, {}};
  const std::vector<Loop> inside = loops_inside(plan, view.level);
  const int64_t atoms = view.block_bytes / plan.atom_bytes;
  task.offsets.reserve(static_cast<size_t>(view.blocks * atoms));
  for (int64_t block = 0; block < view.blocks; ++block) {
    NestCursor cursor(inside, 0);
    for (int64_t i = 0; i < atoms; ++i, cursor.advance())
      task.offsets.push_back(block * plan.loops[view.level].src_step + cursor.src);
  }
  return task;
}

// Of a whole row, for each line of it.
double cycles_of(const View& view, int64_t extent, int width) {
  const bool whole = view.is_whole(width) || view.has_gaps();
  const double vector =
      cycles_of_vector + (whole ? 0 : cycles_of_cut_vector) + view.cost.depth * cycles_of_pick;
  const auto of_blocks = [&](int64_t blocks) {
    const auto vectors = static_cast<double>(ceil_div(blocks * view.block_step, width));
    return blocks == 0 ? 0 : cycles_of_period + vectors * vector;
  };
  const double row = static_cast<double>(extent / view.blocks) * of_blocks(view.blocks) +
                     of_blocks(extent % view.blocks) + cycles_of_row;
  return row * line_bytes / static_cast<double>(extent * view.block_bytes);
}

// Periods that end with a vector; where those are too long, or longer than rows, ones that end shortly before.
std::vector<int64_t> block_counts(int64_t block_bytes, int64_t extent, int64_t width) {
  std::vector<int64_t> counts;
  const int64_t whole = width / std::gcd(width, block_bytes);
  const auto fits = [&](int64_t blocks) {
    return blocks <= extent && blocks * block_bytes <= most_period_bytes;
  };
  if (fits(whole)) counts.push_back(whole);
  for (int64_t blocks = 2 * whole; fits(blocks) && blocks * block_bytes <= enough_period_bytes;
       blocks *= 2)
    counts.push_back(blocks);
  if (!counts.empty()) return counts;
  for (const int64_t bytes : {4 * width, 16 * width})
    counts.push_back(std::clamp<int64_t>(bytes / block_bytes, 1, extent));
  return counts;
}

// Blocks with short gaps between them, which stores of 64 bytes can leave out.
bool takes_gaps(int64_t block_bytes, const Loop& loop, int width) {
  const int64_t gap = loop.dst_step - block_bytes;
  return width == line_bytes && gap > 0 && gap < width && block_bytes < most_gapped_block;
}

// The lines of src inside of a loop, about: all atoms lie apart, or all within the distance of the farthest two.
int64_t lines_inside(const RearrangePlan& plan, int level) {
  int64_t atoms = 1, distance = plan.atom_bytes;
  for (const Loop& loop : loops_inside(plan, level)) {
    if (loop.src_step != 0) atoms *= loop.extent;
    distance += (loop.extent - 1) * magnitude(loop.src_step);
  }
  return std::min(atoms * ceil_div(plan.atom_bytes, line_bytes), ceil_div(distance, line_bytes));
}

// Rows are made in dst's order. What of a line one row leaves unused another one should find in L1.
bool reads_lines_again(const RearrangePlan& plan, int level) {
  const int64_t step = magnitude(plan.loops[level].src_step);
  return step != 0 && step < line_bytes && lines_inside(plan, level) * line_bytes > most_near_bytes;
}

bool is_far(const Loop& along) { return magnitude(along.src_step) >= least_far; }

// Where the blocks of a row lie apart: the loop outside of it that makes the smallest step in src, if that is smaller, and
// if its rows share pages, or lines that would not stay in the cache. -1: none.
int near_level(const RearrangePlan& plan, int level) {
  const int64_t most = std::min(magnitude(plan.loops[level].src_step), least_far);
  int near = -1;
  for (int i = 0; i < level; ++i) {
    const int64_t step = magnitude(plan.loops[i].src_step);
    if (step != 0 && step < most && (near < 0 || step < magnitude(plan.loops[near].src_step)))
      near = i;
  }
  return near >= 0 && (is_far(plan.loops[level]) || reads_lines_again(plan, near)) ? near : -1;
}

// A period of each of many rows in turns.
bool is_side_by_side(const RearrangePlan& plan, const View& view, const Policy& policy, int width) {
  return near_level(plan, view.level) >= 0 && is_far(plan.loops[view.level]) &&
         beyond_caches(plan, policy) && width == line_bytes && view.is_whole(width) &&
         !view.has_gaps();
}

// The view that takes the fewest cycles. Of periods that end with vectors the longer ones repeat the shortest.
View best_view(const RearrangePlan& plan, const Policy& policy, int width) {
  View best{};
  int64_t block_bytes = plan.atom_bytes;
  for (int level = plan.depth - 1; level >= 0 && block_bytes <= most_block_bytes; --level) {
    const Loop& loop = plan.loops[level];
    const int64_t gap = loop.dst_step - block_bytes;
    if (gap != 0 && !takes_gaps(block_bytes, loop, width)) break;
    ShuffleCost known;
    for (const int64_t blocks : block_counts(loop.dst_step, loop.extent, width)) {
      View view{level, block_bytes, loop.dst_step, blocks, known};
      if (!view.is_whole(width) || known.depth == 0) {
        view.cost = shuffle_cost(task_of(plan, view), width, most_windows);
        view.known = true;
      }
      if (view.is_whole(width)) known = view.cost;
      if (ceil_div(blocks * loop.dst_step, width) * view.cost.depth * width > most_tables) continue;
      view.cycles = cycles_of(view, loop.extent, width);
      if (loop.extent % blocks != 0 && is_side_by_side(plan, view, policy, width))
        view.cycles += cycles_of_rest * line_bytes / static_cast<double>(loop.extent * block_bytes);
      if (view.cycles < best.cycles) best = view;
    }
    if (gap != 0) break;
    block_bytes *= loop.extent;
  }
  return best;
}

// How far ahead of its use src is asked for: in the same row, or in one of the next ones if rows are short.
int64_t ahead_of(const ShuffleSchedule& schedule, int64_t blocks) {
  const Loop &along = schedule.along, &near = schedule.near;
  if (near.extent > 1 && is_far(along))
    return near.src_step * ceil_div(near_ahead_bytes, magnitude(near.src_step));
  const int64_t row = saturating_mul(along.extent, magnitude(along.src_step)),
                period = saturating_mul(blocks, along.src_step);
  if (row >= 2 * ahead_bytes && period != 0)
    return period * ceil_div(ahead_bytes, magnitude(period));
  for (auto loop = schedule.outer.rbegin(); loop != schedule.outer.rend(); ++loop)
    if (loop->src_step != 0)
      return loop->src_step * ceil_div(ahead_bytes, std::max<int64_t>(row, line_bytes));
  return 0;
}

// Whole periods. Of near rows that are not made side by side so few blocks that their lines stay in L1, but many enough
// that most lines of dst are whole.
int64_t choose_piece(const ShuffleSchedule& schedule, int threads, int64_t piece_bytes) {
  const int64_t task_bytes = std::max(piece_bytes / tasks_of_piece, least_piece),
                shared_bytes = piece_bytes;  // of src, that near rows find in L2
  const int64_t extent = schedule.along.extent, block = schedule.along.dst_step,
                period = schedule.program.blocks;
  if (schedule.side_by_side) {
    const int64_t others = schedule.outer_count * schedule.strips();
    return std::min(extent, round_up(ceil_div(extent, ceil_div(4 * threads, others)), period));
  }
  const int64_t bytes = schedule.near.extent == 1 ? task_bytes
                        : is_far(schedule.along)
                            ? std::clamp(near_blocks * block, least_piece, most_piece)
                            : std::clamp(shared_bytes / magnitude(schedule.along.src_step) * block,
                                         least_piece, task_bytes);
  return std::min(extent, ceil_div(bytes, schedule.program.bytes) * period);
}

// A small src is read again and again, and windows that reach over its ends are most of them: they read a copy that has
// room for them.
int64_t room_around(const ShuffleSchedule& schedule) {
  const int64_t room =
      round_up(schedule.program.reach_end - schedule.program.reach_begin, line_bytes);
  const int64_t around = saturating_add(line_bytes, saturating_mul(2, room));
  return saturating_add(schedule.span.end - schedule.span.begin, around) <= most_copied ? room : 0;
}

// The bytes of src that some blocks of a row are made of.
ByteRange range_of(const RearrangePlan& plan, int level, int64_t blocks) {
  ByteRange range{0, plan.atom_bytes};
  for (int i = level; i < plan.depth; ++i) {
    const int64_t count = i == level ? blocks : plan.loops[i].extent,
                  distance = (count - 1) * plan.loops[i].src_step;
    (distance < 0 ? range.begin : range.end) += distance;
  }
  return range;
}

// How far the windows of a row reach beyond the bytes that it is made of, at most.
int64_t overreach(const ShuffleSchedule& schedule, const RearrangePlan& plan) {
  const ShuffleProgram& program = schedule.program;
  const Loop& along = schedule.along;
  const ByteRange own = range_of(plan, schedule.level, along.extent);
  const int64_t last = (along.extent - 1) / program.blocks * program.blocks * along.src_step;
  return std::max({own.begin - std::min<int64_t>(last, 0) - program.reach_begin,
                   std::max<int64_t>(last, 0) + program.reach_end - own.end, int64_t{0}});
}

void take_reach(ShuffleSchedule& schedule, const RearrangePlan& plan) {
  schedule.room = room_around(schedule);
  schedule.overreach = schedule.room == 0 ? overreach(schedule, plan) : 0;
}

// All but its picks; windows begin with lines, as if src did.
ShuffleProgram outline_of(const RearrangePlan& plan, const View& view, int width) {
  ShuffleProgram program;
  program.blocks = view.blocks;
  program.bytes = view.blocks * view.block_step;
  program.gap = view.block_step - view.block_bytes;
  program.width = width;
  program.depth = view.cost.depth;
  program.shared = view.cost.shared;
  program.counted = view.known;
  const ByteRange range = range_of(plan, view.level, view.blocks);
  program.reach_begin = -round_up(-range.begin, width);
  program.reach_end = round_up(range.end, width);
  return program;
}

}  // namespace

int least_windows(const RearrangePlan& plan, int width) {
  if (plan.atom_bytes >= width) return 1;
  ShuffleTask first{1, 0, 0, plan.atom_bytes, {}};
  const std::vector<Loop> loops(plan.loops, plan.loops + plan.depth);
  NestCursor cursor(loops, 0);
  const int64_t atoms = std::min(atom_count(plan), ceil_div(width, plan.atom_bytes));
  for (int64_t i = 0; i < atoms && cursor.dst == i * plan.atom_bytes; ++i, cursor.advance())
    first.offsets.push_back(cursor.src);
  first.block_bytes = first.block_step =
      plan.atom_bytes * static_cast<int64_t>(first.offsets.size());
  return shuffle_cost(first, width, 0).depth;
}

std::optional<ShuffleSchedule> make_shuffle_schedule(const RearrangePlan& plan,
                                                     const Policy& policy, int width) {
  if (plan.depth == 0 || plan.atom_bytes > most_block_bytes) return std::nullopt;
  const View view = best_view(plan, policy, width);
  if (view.blocks == 0) return std::nullopt;
  ShuffleSchedule schedule;
  schedule.dst_offset = plan.dst_offset;
  schedule.src_offset = plan.src_offset;
  const int near = near_level(plan, view.level);
  for (int i = 0; i < view.level; ++i) {
    if (i == near) {
      schedule.near = plan.loops[i];
      continue;
    }
    schedule.outer.push_back(plan.loops[i]);
    schedule.outer_count *= plan.loops[i].extent;
  }
  schedule.level = view.level;
  schedule.along = plan.loops[view.level];
  schedule.streamed = beyond_caches(plan, policy);
  schedule.program = outline_of(plan, view, width);
  if (schedule.streamed) schedule.ahead = ahead_of(schedule, view.blocks);
  schedule.span = src_range(plan);
  take_reach(schedule, plan);
  schedule.strip = std::min(schedule.near.extent, most_strip);
  schedule.side_by_side = is_side_by_side(plan, view, policy, width);
  schedule.piece =
      choose_piece(schedule, threads_for(moved_bytes(plan), policy), policy.piece_bytes);
  return schedule;
}

void complete_program(ShuffleSchedule& schedule, const RearrangePlan& plan) {
  const ShuffleProgram& outline = schedule.program;
  const int64_t step = schedule.along.dst_step;
  const ShuffleTask task =
      task_of(plan, {schedule.level, step - outline.gap, step, outline.blocks, {}});
  const ShuffleCost cost = outline.counted ? ShuffleCost{outline.depth, outline.shared}
                                           : shuffle_cost(task, outline.width, most_windows);
  schedule.program = make_shuffle_program(task, outline.width, cost);
  take_reach(schedule, plan);
}

std::string to_string(const ShuffleSchedule& schedule) {
  const ShuffleProgram& program = schedule.program;
  std::ostringstream text;
  print_loops(text, "outer", schedule.outer);
  print_loops(text, "along", {schedule.along});
  if (schedule.near.extent > 1) print_loops(text, "near ", {schedule.near});
  text << schedule.tasks() << " tasks of " << schedule.piece << " blocks of "
       << schedule.along.dst_step << " bytes, " << program.blocks << " to a period of "
       << program.vectors() << " vectors of " << program.width << " bytes from " << program.depth
       << (program.depth == 1 ? " window each" : " windows each")
       << (schedule.side_by_side ? ", rows side by side" : "")
       << (program.gap > 0 ? ", gaps left out" : "")
       << (schedule.streamed ? ", streamed" : ", cached");
  return text.str();
}

}  // namespace infini::cpu
