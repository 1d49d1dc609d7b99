// How a skinny product is cut into blocks.
#include <algorithm>

#include "backends/gpu/gemm/skinny/schedule.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::gpu {
namespace {

constexpr int64_t enough_blocks = 768;                         // to keep any chip busy
constexpr int64_t shared_bytes = 24 * 1024;                    // of A, widened
constexpr int64_t least_part = 512, least_part_per_row = 128;  // less is not worth its sums

int64_t sum_bytes(const GemmPlan& plan) { return plan.a.dtype == INFINI_DTYPE_F64 ? 8 : 4; }

bool runs_along_k(const GemmPlan& plan) {
  return plan.k > 1 && plan.b.row_step == dtype_bytes(plan.b.dtype);
}

// Threads along a line that has `vectors`: not more than it has work for.
int threads_along(int64_t vectors, int most) {
  int across = most;
  while (across > 8 && across / 2 >= vectors) across /= 2;
  return across;
}

}  // namespace

bool has_lines(const GemmPlan& plan) {
  return runs_along_k(plan) || plan.n == 1 || plan.b.col_step == dtype_bytes(plan.b.dtype);
}

SkinnySchedule make_skinny_schedule(const GemmPlan& plan) {
  SkinnySchedule s{};
  // A step of one element along n is as good as one along k, unless there is only one column.
  s.k_inside = runs_along_k(plan) &&
               (plan.n == 1 || plan.b.col_step != dtype_bytes(plan.b.dtype) || plan.k > plan.n);
  s.vector = static_cast<int>(vector_bytes / dtype_bytes(plan.b.dtype));
  s.across = s.k_inside ? threads_along(ceil_div(plan.k, s.vector), 32)
                        : threads_along(ceil_div(plan.n, s.vector), 16);
  const int64_t unit =
      s.k_inside ? int64_t{s.across} * s.vector : int64_t{s.beside()} * skinny_unroll;
  const int64_t most_chunk = shared_bytes / (skinny_rows(plan.m) * sum_bytes(plan)) / unit * unit;
  const int64_t groups = plan.batch * ceil_div(plan.n, skinny_columns(s, false)),
                wanted = ceil_div(enough_blocks, std::max<int64_t>(groups, 1)),
                least = round_up(std::max(least_part, least_part_per_row * plan.m), unit);
  s.part = std::max(least, round_up(ceil_div(plan.k, wanted), unit));
  s.chunk = round_up(ceil_div(s.part, ceil_div(s.part, most_chunk)), unit);
  s.parts = std::max<int64_t>(1, ceil_div(plan.k, s.part));
  return s;
}

int64_t skinny_workspace(const GemmPlan& plan, const SkinnySchedule& s) {
  return s.parts == 1 ? 0 : s.parts * plan.batch * plan.m * plan.n * sum_bytes(plan);
}

std::string to_string(const SkinnySchedule& s) {
  return std::string("b read along ") + (s.k_inside ? "k" : "n") + " by " +
         std::to_string(s.across) + " threads beside " + std::to_string(s.beside()) + ", " +
         std::to_string(s.parts) + " parts of k, up to " + std::to_string(s.part) + " each";
}

}  // namespace infini::gpu
