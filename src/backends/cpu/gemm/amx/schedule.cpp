// Cutting a 16-bit product into blocks, pieces of k and planes.
#include "backends/cpu/gemm/amx/schedule.h"

#include <algorithm>

#include "backends/cpu/gemm/amx/kernels.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu::amx {
namespace {

constexpr int64_t usual_depth = 512,
                  most_depth = 1024;  // of the pieces of k, and of one that is all of it
// Few columns: A's rows are read once, from memory, and are better read to their ends.
constexpr int64_t few_cols = 64, few_cols_depth = 4096;
constexpr int64_t most_side = 512,
                  most_f16_side = 256;  // of a task's block: what it packs stays in L2
constexpr double flops_per_thread = 8.0e6;
constexpr int few_threads = 4;  // end nearly together anyway: fewer tasks pack less

// C must have contiguous rows to be rounded into. And where both operands are contiguous along k, B is
// what has to be packed: a B of many columns becomes the A.
GemmPlan orient(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.c.dtype);
  const bool unit_rows = plan.c.col_step != bytes && plan.c.row_step == bytes;
  const bool weights =
      plan.a.col_step == 2 && plan.b.row_step == 2 && plan.m <= few_cols && plan.n >= 8 * plan.m;
  return unit_rows || weights ? transposed(plan) : plan;
}

// Threads, and tasks for them: the longer side is halved until there are enough.
void cut(Schedule& s, int threads) {
  const GemmPlan& plan = s.plan;
  const double flops = (s.f16 ? 8.0 : 2.0) * static_cast<double>(plan.batch) *
                       static_cast<double>(plan.m) * static_cast<double>(plan.n) *
                       static_cast<double>(plan.k);
  s.threads =
      static_cast<int>(std::clamp(flops / flops_per_thread, 1.0, static_cast<double>(threads)));
  const int64_t rounds = flops <= 64 * flops_per_thread ? 1 : s.threads <= few_threads ? 2 : 4;
  const int64_t wanted = s.threads == 1 ? 1 : rounds * s.threads;
  const int64_t most = s.f16 ? most_f16_side : most_side;
  while (s.rows > most || s.cols > most || s.tasks() < wanted) {
    if (s.rows <= block && s.cols <= block) break;
    int64_t& longer = s.rows >= s.cols ? s.rows : s.cols;
    longer = round_up(ceil_div(longer, 2), block);
  }
  s.threads = static_cast<int>(std::min<int64_t>(s.threads, s.tasks()));
}

}  // namespace

std::optional<Schedule> make_schedule(const GemmPlan& given, int threads) {
  const bool is_16_bit = given.a.dtype == INFINI_DTYPE_BF16 || given.a.dtype == INFINI_DTYPE_F16;
  if (!is_16_bit || !is_something(given)) return std::nullopt;
  Schedule s;
  s.plan = orient(given);
  const GemmPlan& plan = s.plan;
  s.swapped = !(plan == given);
  s.f16 = plan.a.dtype == INFINI_DTYPE_F16;
  s.rows = plan.m, s.cols = plan.n;
  cut(s, threads);
  s.reads_a = !s.f16 && plan.a.col_step == 2 && plan.m % side == 0 && plan.k % group == 0 &&
              (plan.a.row_step % 64 == 0 || s.cols <= few_cols);
  const int64_t most = s.reads_a && s.cols <= few_cols  ? few_cols_depth
                       : !s.f16 && plan.k <= most_depth ? most_depth
                                                        : usual_depth;
  s.depth = std::min(round_up(plan.k, group), most);
  const int64_t rows = round_up(s.rows, block), cols = round_up(s.cols, block);
  s.a_plane = s.reads_a ? 0 : rows * s.depth;
  s.b_plane = cols / side * panel_elements(s.depth / group);
  const int64_t blocks = 2 + (plan.k <= s.depth ? 0 : rows / block * (cols / block));
  s.scratch_bytes =
      s.planes() * (s.a_plane + s.b_plane) * 2 + blocks * block_elements * int64_t{sizeof(float)};
  return s;
}

}  // namespace infini::cpu::amx
