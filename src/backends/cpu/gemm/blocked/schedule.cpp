// Cutting a blocked product into blocks, pieces of k, strips and panels.
#include "backends/cpu/gemm/blocked/schedule.h"

#include <algorithm>

#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu::blocked {
namespace {

constexpr int64_t line_bytes = 64;
constexpr double cycles_of_turns =
    1e6;                             // of a thread; from there on it takes turns with the others
constexpr int64_t most_depth = 512;  // a piece of k
// With few rows of A, B comes from memory: longer rows of it, because each is in another page and makes
// the processor's own fetching start anew. With some, too, but C must not come and go too often.
constexpr int64_t few_rows = 24, few_rows_depth = 96;
constexpr int64_t some_rows = 64, some_rows_depth = 192;
constexpr int64_t more_rows = 512, more_rows_depth = 256;
constexpr int64_t most_group_bytes = 112 << 10;  // of an A that is used again and again
// Rows of all panels of a group of columns, 192 bytes each: a strip of f64 is twice as long, and should meet more panels.
constexpr int64_t most_panel_rows = 12 * more_rows_depth,
                  most_panel_rows_f64 = 16 * more_rows_depth;
constexpr int64_t most_cols_along = 96;     // of a group whose columns are contiguous
constexpr int64_t most_region_cols = 3072;  // of the B that is packed together
constexpr int64_t most_a_bytes = 16 << 20;  // of the A that is packed together
constexpr int most_team = 4;                // threads that wait for each other at every piece of k
constexpr int64_t most_block = 768;         // rows or columns of a block that one thread has
constexpr int64_t most_sum_bytes = 8 << 20;

// C must have unit columns to be written by the tiles; a C with unit rows is computed transposed.
GemmPlan orient(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.c.dtype);
  const bool unit_cols = plan.n == 1 || plan.c.col_step == bytes;
  const bool unit_rows = plan.m == 1 || plan.c.row_step == bytes;
  return !unit_cols && unit_rows ? transposed(plan) : plan;
}

// The length of the pieces of k. It decides the bits, and must not depend on the threads.
int64_t depth_of(const GemmPlan& plan) {
  if (plan.m <= few_rows) return few_rows_depth;
  const bool b_across = plan.b.col_step == dtype_bytes(plan.b.dtype);
  if (!b_across || plan.m > more_rows || plan.n < 4 * plan.m) return most_depth;
  if (plan.m <= some_rows) return some_rows_depth;
  return more_rows_depth;
}

// Units per task: the tasks should end together (the last one may be smaller), and fewer are
// better.
int64_t best_group(int64_t units, int64_t least, int64_t most, int threads) {
  int64_t best = std::max<int64_t>(1, std::min(units, most));
  double best_cost = 1e300;
  for (int64_t size = best; size >= std::min(least, best); --size) {
    const int64_t whole = units / size, rest = units % size, rounds = whole / threads;
    const int64_t longest = rounds * size + (whole % threads ? size : rest);
    const double cost =
        static_cast<double>(longest) + 0.15 * static_cast<double>(ceil_div(units, size)) / threads;
    if (cost < best_cost) best = size, best_cost = cost;
  }
  return best;
}

// A few threads share each product. Many threads, or many products, are better off alone: C is cut
// into blocks, halving the longer side, until there are enough of them.
void choose_threads(Schedule& s, const GemmTarget& target) {
  const double all = cycles(s, target);
  s.threads = worthwhile_threads(target, all);
  s.block_rows = s.plan.m, s.block_cols = s.plan.n;
  const bool many_products = s.plan.batch >= 2 * s.threads;
  s.team = s.threads > most_team || many_products ? 1 : s.threads;
  const int64_t wanted = all > s.threads * cycles_of_turns ? 4 * s.threads : s.threads;
  const auto halve = [](int64_t extent, int64_t unit) {
    return std::max(unit, round_up(ceil_div(extent, 2), unit));
  };
  const bool streams = s.plan.m <= few_rows &&
                       s.plan.batch == 1;  // then a block each: long rows of B, A packed once
  if (s.team < s.threads && streams)
    s.block_cols = std::max(s.panel, round_up(ceil_div(s.plan.n, s.threads), s.lanes));
  while (s.team < s.threads && !streams &&
         (s.blocks() < wanted || s.block_rows > most_block || s.block_cols > most_block)) {
    if (s.block_rows <= s.strip && s.block_cols <= s.panel) break;
    if (s.block_rows > s.strip && (s.block_cols <= s.panel || s.block_rows >= s.block_cols))
      s.block_rows = halve(s.block_rows, s.strip);
    else
      s.block_cols = halve(s.block_cols, s.panel);
  }
  if (s.team == 1)
    s.threads = static_cast<int>(std::min<int64_t>(s.threads, std::max<int64_t>(1, s.blocks())));
  const bool many_rows = s.block_rows >= 4 * s.strip * s.team && 4 * s.block_rows >= s.block_cols;
  // Of an A that is packed whole, not even one strip may be too long.
  s.by_rows = many_rows || s.strip * s.bytes > most_a_bytes / std::max<int64_t>(1, s.plan.k);
}

void split_rows(Schedule& s) {
  s.region_cols = round_up(std::min(s.block_cols, most_region_cols), s.panel);
  s.region_rows = s.block_rows;
  if (!s.direct_c)
    s.region_rows =
        std::min(s.block_rows, round_up(most_sum_bytes / (s.region_cols * s.bytes), s.strip));
  const int64_t most = std::max<int64_t>(1, most_group_bytes / (s.depth * s.strip * s.bytes));
  s.group = s.strip * best_group(ceil_div(s.region_rows, s.strip), std::max<int64_t>(1, most / 4),
                                 most, s.team);
}

void split_cols(Schedule& s) {
  const int64_t row_bytes = std::max<int64_t>(1, s.plan.k) * s.bytes;
  s.region_rows =
      std::min(s.block_rows, round_up(std::max(s.strip, most_a_bytes / row_bytes), s.strip));
  if (!s.direct_c) s.region_rows = std::min<int64_t>(s.region_rows, s.strip * 64);
  s.region_cols = s.block_cols;
  const bool b_along = s.plan.b.row_step == dtype_bytes(s.plan.b.dtype) && s.plan.k > 1;
  const int64_t panel_rows = is_f64(s.plan) ? most_panel_rows_f64 : most_panel_rows;
  const int64_t most =
      b_along ? ceil_div(most_cols_along, s.panel) : panel_rows / std::max(s.depth, few_rows_depth);
  s.group = s.panel * best_group(ceil_div(s.block_cols, s.panel), 1, most, s.team);
}

void lay_out_workspace(Schedule& s) {
  const auto lines = [&](int64_t elements) { return round_up(elements * s.bytes, line_bytes); };
  const int64_t strips = ceil_div(s.region_rows, s.strip);
  s.shared_bytes = s.by_rows ? lines(s.depth * s.region_cols)
                             : lines(strips * ceil_div(s.plan.k, s.depth) * s.strip_step(s.depth));
  s.private_bytes =
      s.by_rows ? lines(s.group / s.strip * s.strip_step(s.depth)) : lines(s.depth * s.group);
  if (!s.direct_c) s.sum_bytes = lines(s.region_rows * (s.by_rows ? s.region_cols : s.group));
  s.buffers = s.team == 1 ? 1 : 2;
  s.team_bytes = s.buffers * s.shared_bytes + s.team * s.private_bytes +
                 (s.by_rows ? 1 : s.team) * s.sum_bytes;
}

}  // namespace

int64_t Schedule::blocks() const {
  return plan.batch * ceil_div(plan.m, block_rows) * ceil_div(plan.n, block_cols);
}

Block Schedule::block(int64_t index) const {
  const int64_t across = ceil_div(plan.n, block_cols), down = ceil_div(plan.m, block_rows);
  const int64_t row = index / across % down * block_rows, col = index % across * block_cols;
  return {index / (across * down), row, col, std::min(block_rows, plan.m - row),
          std::min(block_cols, plan.n - col)};
}

int64_t Schedule::strips_together(int64_t length) const {
  return std::max<int64_t>(1, most_group_bytes / (strip_step(length) * bytes));
}

Schedule make_schedule(const GemmTarget& target, const GemmPlan& original) {
  Schedule s;
  const KernelShape& shape = shape_of(target, original);
  s.plan = orient(original);
  s.bytes = shape.bytes, s.lanes = shape.lanes;
  s.swapped = !(s.plan == original);
  const int64_t vectors = ceil_div(s.plan.n, s.lanes);  // in panels of equal width
  s.panel = ceil_div(vectors, ceil_div(vectors, shape.tile_vectors)) * s.lanes;
  s.strip = shape.tile_rows;
  s.depth = std::clamp<int64_t>(s.plan.k, 1, depth_of(s.plan));
  s.direct_c = memory_index(s.plan.c.dtype) == 0 && (s.plan.n == 1 || s.plan.c.col_step == s.bytes);
  choose_threads(s, target);
  s.by_rows ? split_rows(s) : split_cols(s);
  s.pack_a = !s.by_rows || memory_index(s.plan.a.dtype) != 0 || s.plan.a.col_step != s.bytes ||
             s.block_cols > Schedule::most_unpacked_cols;
  lay_out_workspace(s);
  return s;
}

}  // namespace infini::cpu::blocked
