// Choosing the direct gemm's way, and whether it should be gone at all.
#include "backends/cpu/gemm_direct_way.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t most_b_bytes = 160 << 10;  // of the memory that B lies in
constexpr int64_t short_row = 1024,          // bytes: rows that long and less crowd the first cache less
    most_bytes_of_short_rows = 264 << 10;
constexpr int64_t short_k = 64;               // a panel of B that stays in the first cache, however many there are
constexpr int64_t most_packed_bytes = 256 << 10;  // of a panel, or of A
constexpr double most_packed_cycles = 150e3;  // beyond that the blocked gemm packs better

// Costs in cycles, roughly as measured: they choose between ways that differ by much.
constexpr double tile_cycles = 40, fma_latency = 4, call_cycles = 100;
struct Costs {
  double copied = 2;       // a vector
  double turned = 0.4;     // an element, by transposing vectors
  double one_by_one = 2;   // an element
};

bool is_unit(int64_t extent, int64_t step, infiniDtype_t dtype) { return extent == 1 || step == dtype_bytes(dtype); }

// What copying rows×cols into rows of vectors costs.
double copy_cycles(const GemmOperand& x, int64_t rows, int64_t cols, int lanes) {
  const Costs costs;
  if (is_unit(cols, x.col_step, x.dtype)) return costs.copied * static_cast<double>(rows * ceil_div(cols, lanes));
  const bool turns = is_unit(rows, x.row_step, x.dtype);
  return (turns ? costs.turned : costs.one_by_one) * static_cast<double>(rows) *
         static_cast<double>(turns ? round_up(cols, lanes) : cols);
}

// Two multiply-adds a cycle, unless they wait for each other or for what they load.
template <class T>
double tiles_cycles(const GemmPlan& plan, const GemmKernels<T>& kernels) {
  const int64_t all = ceil_div(plan.n, kernels.lanes);
  double cycles = 0;
  for (int64_t left = all; left > 0;) {
    const int64_t vectors = panel_vectors(kernels, all, left), strips = ceil_div(plan.m, most_rows(kernels, vectors)),
                  rows = ceil_div(plan.m, strips);
    const int64_t panels = std::max<int64_t>(1, left / vectors - 1);
    const double each = std::max({static_cast<double>(rows * vectors) / 2, fma_latency,
                                  static_cast<double>(rows + vectors) / 2});
    cycles += static_cast<double>(panels * strips) * (static_cast<double>(plan.k) * each + tile_cycles);
    left -= panels * vectors;
  }
  return cycles;
}

template <class T>
DirectWay way_of(const GemmPlan& plan, const GemmKernels<T>& kernels) {
  DirectWay way;
  const bool own_type = memory_index(plan.a.dtype) == 0;
  const bool b_unit = is_unit(plan.n, plan.b.col_step, plan.b.dtype), c_unit = is_unit(plan.n, plan.c.col_step, plan.c.dtype);
  way.packs_a = !own_type;
  way.packs_b = !own_type || !b_unit || (!kernels.masks && plan.n % kernels.lanes != 0);
  way.through_sums = memory_index(plan.c.dtype) != 0 || !c_unit;
  way.cycles = call_cycles + tiles_cycles(plan, kernels);
  if (way.packs_a) way.cycles += copy_cycles(plan.a, plan.m, plan.k, kernels.lanes);
  if (way.packs_b) way.cycles += copy_cycles(plan.b, plan.k, plan.n, kernels.lanes);
  if (way.through_sums) way.cycles += 2 * copy_cycles(plan.c, plan.m, plan.n, kernels.lanes);
  return way;
}

template <class T>
DirectWay cheaper_way(const GemmPlan& plan, const GemmKernels<T>& kernels) {
  const DirectWay way = way_of(plan, kernels);
  DirectWay other = way_of(transposed(plan), kernels);
  other.swapped = true;
  return other.cycles < way.cycles ? other : way;
}

bool fits_in_place(const GemmPlan& plan) {
  if (plan.n > most_b_bytes || plan.k > most_b_bytes) return false;
  const int64_t row = std::max(std::abs(plan.b.row_step), plan.n * dtype_bytes(plan.b.dtype));
  return plan.k * row <= (row <= short_row ? most_bytes_of_short_rows : most_b_bytes);
}

}  // namespace

DirectWay direct_way(const GemmPlan& plan) {
  const auto& tables = gemm_tables(isa());
  return is_f64(plan) ? cheaper_way(plan, tables.f64) : cheaper_way(plan, tables.f32);
}

bool is_small(const infini::Device& device, const GemmPlan& original) {
  if (original.m == 0 || original.n == 0 || original.k == 0 || original.batch == 0) return false;
  const DirectWay way = direct_way(original);
  const GemmPlan plan = way.swapped ? transposed(original) : original;
  const int64_t bytes = is_f64(plan) ? sizeof(double) : sizeof(float);
  if (way.packs_a && plan.m * plan.k * bytes > most_packed_bytes) return false;
#if defined(__x86_64__)
  if (way.packs_a && fits_amx(device, original)) return false;
#endif
  if (prefers_dots(original)) return false;
  if (plan.k <= short_k) return true;
  if (!way.packs_b) return fits_in_place(plan);
  return plan.k * most_tile_vectors * line_bytes <= most_packed_bytes && way.cycles <= most_packed_cycles;
}

}  // namespace infini::cpu
