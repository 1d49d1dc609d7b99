// Cutting a bf16 product into blocks, pieces of k and panels.
#include "backends/cpu/gemm/dpbf16/schedule.h"

#include <algorithm>

#include "backends/cpu/gemm/dpbf16/kernels.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu::dpbf16 {
namespace {

constexpr int64_t line_bytes = 64, element_bytes = 2;
constexpr int64_t most_b_bytes = 512 << 10;  // of packed panels, in the second cache
constexpr int64_t most_rows_of_block = 1024;
constexpr int64_t most_depth = 2048;  // up to here k is one piece, and there are no sums to keep
constexpr double cycles_of_turns =
    5e5;  // of a thread; from there on it takes turns with the others

// C must have contiguous rows to be rounded into.
GemmPlan orient(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.c.dtype);
  const bool unit_cols = plan.n == 1 || plan.c.col_step == bytes,
             unit_rows = plan.m == 1 || plan.c.row_step == bytes;
  return !unit_cols && unit_rows ? transposed(plan) : plan;
}

// Nearly equal parts that are multiples of a unit.
int64_t part_of(int64_t extent, int64_t parts, int64_t unit) {
  return std::min(extent, round_up(ceil_div(extent, parts), unit));
}

// Blocks for the threads: columns first, so that B is packed once, then rows.
void cut(Schedule& s, double alone_cycles) {
  const GemmPlan& plan = s.plan;
  const int64_t most_cols =
      std::max(s.width, most_b_bytes / (s.depth * element_bytes) / s.width * s.width);
  s.cols = part_of(plan.n, ceil_div(plan.n, most_cols), s.width);
  s.rows = part_of(plan.m, ceil_div(plan.m, most_rows_of_block), packed_rows);
  if (s.threads == 1) return;
  const int64_t wanted = alone_cycles > s.threads * cycles_of_turns ? 4 * s.threads : s.threads;
  while (s.tasks() < wanted && (s.cols > s.width || s.rows > packed_rows)) {
    if (s.cols > s.width && (s.cols >= 4 * s.width || s.rows <= 4 * packed_rows))
      s.cols = part_of(s.cols, 2, s.width);
    else
      s.rows = part_of(s.rows, 2, packed_rows);
  }
  s.threads = static_cast<int>(std::min<int64_t>(s.threads, s.tasks()));
}

}  // namespace

int64_t Schedule::down() const { return ceil_div(plan.m, rows); }
int64_t Schedule::across() const { return ceil_div(plan.n, cols); }
Block Schedule::block(int64_t task) const {
  const int64_t row = task % down() * rows, col = task / down() % across() * cols;
  return {task / (down() * across()), row, col, std::min(rows, plan.m - row),
          std::min(cols, plan.n - col)};
}
int64_t Schedule::panels() const { return ceil_div(cols, width); }
// A line more than the pairs: packing writes to all panels in turn, and at powers of two they would
// share a few lines of the first cache.
int64_t Schedule::panel_bytes(int64_t columns) const {
  return ceil_div(depth, 2) * columns * 2 * element_bytes + line_bytes;
}

int64_t strip_rows(const Schedule& schedule, int64_t rows, int64_t row, int64_t vectors) {
  const int64_t first = schedule.packs_a ? row / packed_rows * packed_rows : 0;
  const int64_t all = schedule.packs_a ? std::min(packed_rows, rows - first) : rows;
  const int64_t height = ceil_div(all, ceil_div(all, most_rows(vectors)));
  return std::min(height, first + all - row);
}

std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& plan) {
  if (plan.a.dtype != INFINI_DTYPE_BF16) return std::nullopt;
  if (plan.batch == 0 || plan.m == 0 || plan.n == 0 || plan.k == 0) return std::nullopt;
  Schedule s;
  s.plan = orient(plan);
  s.swapped = !(s.plan == plan);
  s.packs_a = s.plan.k > 1 && s.plan.a.col_step != element_bytes;
  s.depth = part_of(s.plan.k, ceil_div(s.plan.k, most_depth), 2);
  const int64_t vectors = ceil_div(s.plan.n, lanes);  // in panels of nearly equal width
  s.width = ceil_div(vectors, ceil_div(vectors, most_vectors)) * lanes;
  const double all = cycles(s, target);
  s.threads = worthwhile_threads(target, all);
  cut(s, all);
  s.b_bytes = round_up(s.panels() * s.panel_bytes(s.width), line_bytes);
  if (s.packs_a) s.a_bytes = ceil_div(s.rows, packed_rows) * s.panel_bytes(packed_rows);
  // Of one piece, a tile's sums at most.
  const int64_t sum_elements =
      s.in_one_piece() ? tallest_tile * most_vectors * lanes : s.rows * s.sum_row();
  s.sum_bytes = sum_elements * int64_t{sizeof(float)};
  return s;
}

}  // namespace infini::cpu::dpbf16
