// Experiments with the rearrange kernels themselves: what a unit of each takes in L1, and what lines wait that compete there.
#include "backends/cpu/machine/experiment.h"
#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/cost.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/shuffle/kernels.h"
#include "backends/cpu/rearrange/shuffle/program.h"
#include "backends/cpu/rearrange/tiles/schedule.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

constexpr int64_t near_bytes = 8 << 10;  // of each side: L1 has both
constexpr int64_t square_bytes = 64 << 20;
constexpr int64_t most_pick_period = 512;
constexpr int again = 64;
constexpr int crowding_threads =
    4;  // that there is room for: a tensor of a page by a page of words for each

// Of one turn.
template <class Body>
double near_ns(Body body) {
  return best_ns([&] {
           for (int i = 0; i < again; ++i) body();
         }) /
         again;
}

// A reversed line takes one load and shuffle, one that is woven of four planes takes four.
void measure_lines(Machine& m, const Room& room) {
  const auto ns_of = [&](LineKind kind, int ways) {
    Line line = line_of(room.dst, room.src, near_bytes / 4, false);
    line.ways = ways;
    line.plane_step = near_bytes / 4;
    if (kind == LineKind::flip) line.src += near_bytes;
    return near_ns([&] { line_kernel(isa(), kind, 4)(line); }) * line_bytes / near_bytes;
  };
  const double one = ns_of(LineKind::flip, 1), four = ns_of(LineKind::weave, 4);
  m.vector_ns = one;
  m.shuffle_ns = std::clamp((four - one) / 4, one / 16, one);
  Line rows = line_of(room.dst, room.src, 64, false);
  rows.repeat = 128, rows.repeat_dst = rows.repeat_src = 64;
  m.call_ns = best_ns([&] { line_kernel(isa(), LineKind::copy, 1)(rows); }) / 128;
  Line elements = line_of(room.dst, room.src, 512, false);
  elements.ways = 5;
  m.element_ns = best_ns([&] { line_kernel_portable(LineKind::step, 4)(elements); }) / 512;
}

// Panels of a line of rows, down as many of them as `lines` lines of each column have.
void run_panels(PanelKernel kernel, Panel panel, int64_t lines) {
  for (int64_t i = 0; i < lines; ++i, panel.dst += line_bytes) {
    kernel(panel);
    panel.src += panel.rows * panel.row_step;
  }
}

Panel panel_of(const Room& room, int word, int64_t columns, int64_t row_step, int64_t column_step) {
  Panel panel{};
  panel.dst = room.dst, panel.src = room.src;
  panel.rows = static_cast<int>(line_bytes / word), panel.columns = columns;
  panel.row_step = row_step, panel.column_step = column_step;
  return panel;
}

// Bytes are exchanged four times between loading and storing them, words of 8 bytes once.
void measure_exchange(Machine& m, const Room& room) {
  const auto ns_of = [&](int word) {
    const int64_t columns = near_bytes / line_bytes;
    const PanelKernel kernel = panel_kernels(isa(), word).cached;
    // (Rows a line farther apart than they are long.)
    const Panel panel = panel_of(room, word, columns, columns * word + line_bytes, line_bytes);
    return near_ns([&] { run_panels(kernel, panel, 1); }) / static_cast<double>(columns);
  };
  m.exchange_ns = std::clamp((ns_of(1) - ns_of(8)) / 3, m.vector_ns / 16, m.vector_ns);
}

// Every second and every eighth byte: vectors of two and of eight windows.
void measure_pick(Machine& m, const Room& room) {
  const int width = shuffle_width(isa());
  if (width == 0) return;
  const auto ns_of = [&](int windows) {
    ShuffleTask task{1, most_pick_period, most_pick_period, 1, {}};
    for (int64_t i = 0; i < task.bytes(); ++i) task.offsets.push_back(i * windows);
    const auto program = make_shuffle_program(task, width, shuffle_cost(task, width, windows));
    ShuffleRun run{};
    run.dst = room.dst, run.src = room.src, run.periods = near_bytes / 2 / task.bytes();
    run.vectors = program.vectors();
    run.dst_step = run.src_step = task.bytes();
    const auto kernel = shuffle_kernels(isa(), program.depth).run;
    return near_ns([&] { kernel(program, run); }) / static_cast<double>(run.periods * run.vectors);
  };
  m.pick_ns = std::clamp((ns_of(8) - ns_of(2)) / 6, m.vector_ns / 16, 4 * m.vector_ns);
}

// What lines wait where rows and columns lie whole pages apart: the same panels as where they lie a line farther apart, of
// all threads, since they wait for a cache that those share.
void measure_crowded_line(Machine& m, const Room& room) {
  constexpr int word = 4;
  constexpr int64_t rows = page_bytes / line_bytes, columns = page_bytes / word,
                    far_pitch = page_bytes + line_bytes, each = columns * far_pitch;
  const int threads = std::min(available_threads(), crowding_threads);
  const auto ns_at = [&](int64_t pitch) {
    return best_ns(
               [&] {
                 parallel_for(threads, threads, [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     run_panels(panel_kernels(isa(), word).cached,
                                panel_of({room.dst + i * each, room.src + i * each}, word, columns,
                                         pitch, pitch),
                                rows);
                 });
               },
               5, together_ns) /
           static_cast<double>(rows * columns);
  };
  Machine unit = m;  // in which a line waits for a nanosecond
  unit.crowded_line_ns = 1;
  const std::vector<Loop> sides{{columns, page_bytes, page_bytes}};
  const double waits = crowded_ns(sides, &Loop::src_step, line_bytes / word, unit) +
                       crowded_ns(sides, &Loop::dst_step, columns, unit);
  if (waits > 0) m.crowded_line_ns = std::max(ns_at(page_bytes) - ns_at(far_pitch), 0.01) / waits;
}

// A square of words whose rows and columns lie four pages apart, by single lines and by pairs of them.
void measure_pairs(Machine& m, const Room& room) {
  constexpr int64_t word = 4, side = square_bytes / (4 * page_bytes), pitch = side * word;
  RearrangePlan plan;
  plan.atom_bytes = word, plan.depth = 2;
  plan.loops[0] = {side, pitch, word}, plan.loops[1] = {side, word, pitch};
  const Policy policy = policy_from(m, available_threads());
  const auto schedule = make_tile_schedule(plan, policy);
  if (!schedule) return;
  const auto ns_by = [&](int depth) {
    TileSchedule forced = *schedule;
    forced.store = TileSchedule::Store::streamed, forced.depth = depth;
    const auto kernel = make_tiles(forced, plan, policy);
    return best_ns([&] { kernel->run(room.dst, room.src, nullptr); }, 5, together_ns) *
           policy.threads / static_cast<double>(side * pitch / line_bytes);
  };
  m.far_line_ns = ns_by(1), m.far_pair_ns = ns_by(2);
}

}  // namespace

void measure_kernels(Machine& m, const Room& room) {
  measure_lines(m, room);
  measure_exchange(m, room);
  measure_pick(m, room);
  measure_crowded_line(m, room);
  measure_pairs(m, room);
}

}  // namespace infini::cpu
