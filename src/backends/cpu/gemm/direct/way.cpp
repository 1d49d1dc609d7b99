// Choosing the direct gemm's way, and whether it should be gone at all.
#include "backends/cpu/gemm/direct/way.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t most_b_bytes = 160 << 10;  // of the memory that B lies in
constexpr int64_t short_row = 1024,  // bytes: rows that long and less crowd the first cache less
    most_bytes_of_short_rows = 264 << 10;
constexpr int64_t short_k = 64;  // B is read in place
// A larger B is copied panel by panel if many rows meet it; otherwise it is read in place, in pieces of k
// whose panels stay in the first cache.
constexpr int64_t many_rows = 128, in_place_depth = 192, copied_depth = 1024;
constexpr int64_t most_streamed_bytes = 6 << 20,
                  most_copied_bytes = 8 << 20;  // of B; beyond: the blocked gemm
constexpr int64_t most_rows_along = 160,
                  most_rows_long =
                      32;  // a B with contiguous columns is copied at any size, and with a long k
constexpr int64_t most_near_bytes =
    1 << 20;  // of a B that a few rows meet: beyond it comes from memory
constexpr int64_t most_turned_a = 300 << 10;   // bytes of an A that is not contiguous along k
constexpr int64_t most_widened_a = 512 << 10;  // bytes of an A that is copied

// Costs in cycles, roughly as measured: they choose between ways that differ by much.
constexpr int64_t most_jumped_bytes =
    32 << 10;  // an A that is not contiguous along k waits for each k beyond that
constexpr double jump_cycles = 6;
constexpr double tile_cycles = 40, fma_latency = 4, call_cycles = 100,
                 panel_cycles = 60;  // the last: of a copied panel, or of sums
struct Costs {
  double copied = 2;                        // a vector
  double turned = 0.4, turned_by_16 = 0.5;  // an element, by transposing vectors
  double one_by_one = 2;                    // an element
};

bool is_unit(int64_t extent, int64_t step, infiniDtype_t dtype) {
  return extent == 1 || step == dtype_bytes(dtype);
}

// What copying rows×cols into rows of vectors costs.
double copy_cycles(const GemmOperand& x, int64_t rows, int64_t cols, int lanes) {
  const Costs costs;
  if (is_unit(cols, x.col_step, x.dtype))
    return costs.copied * static_cast<double>(rows * ceil_div(cols, lanes));
  const bool turns = is_unit(rows, x.row_step, x.dtype);
  return (!turns        ? costs.one_by_one
          : lanes == 16 ? costs.turned_by_16
                        : costs.turned) *
         static_cast<double>(rows) * static_cast<double>(turns ? round_up(cols, lanes) : cols);
}

// One k of a tile: two multiply-adds a cycle, unless they wait for each other or for what they load. (Two loads a cycle,
// too, but an element of A that fills 64 bytes takes a cycle.)
double step_cycles(int64_t rows, int64_t vectors, double splat_cycles) {
  if (rows == 0) return 0;
  return std::max({static_cast<double>(rows * vectors) / 2, fma_latency,
                   splat_cycles * static_cast<double>(rows) + static_cast<double>(vectors) / 2});
}

template <class T>
double tiles_cycles(const GemmPlan& plan, const GemmKernels<T>& kernels) {
  const int64_t all = ceil_div(plan.n, kernels.lanes);
  const bool jumps = plan.a.col_step != dtype_bytes(plan.a.dtype) &&
                     saturating_mul(plan.m, plan.k, sizeof(T)) > most_jumped_bytes;
  const double splat_cycles = kernels.lanes * sizeof(T) == 64 ? 1 : 0.5;
  double cycles = 0;
  for (int64_t left = all; left > 0;) {
    const int64_t vectors = panel_vectors(kernels, plan.m, all, left),
                  strips = ceil_div(plan.m, most_rows(kernels, vectors)),
                  rows = ceil_div(plan.m, strips), whole = plan.m / rows;
    const int64_t panels = std::max<int64_t>(1, left / vectors - 1);
    const double step = static_cast<double>(whole) * step_cycles(rows, vectors, splat_cycles) +
                        step_cycles(plan.m % rows, vectors, splat_cycles) +
                        (jumps ? jump_cycles * static_cast<double>(strips) : 0);
    cycles += static_cast<double>(panels) *
              (static_cast<double>(plan.k) * step + static_cast<double>(strips) * tile_cycles);
    left -= panels * vectors;
  }
  return cycles;
}

bool fits_in_place(const GemmPlan& plan) {
  if (plan.n > most_b_bytes || plan.k > most_b_bytes) return false;
  const int64_t row = std::max(std::abs(plan.b.row_step), plan.n * dtype_bytes(plan.b.dtype));
  return saturating_mul(plan.k, row) <=
         (row <= short_row ? most_bytes_of_short_rows : most_b_bytes);
}

int64_t depth_of(const GemmPlan& plan, const DirectWay& way) {
  const int64_t most = way.packs_b ? copied_depth : way.streams ? in_place_depth : plan.k;
  return plan.k == 0 ? 0 : ceil_div(plan.k, ceil_div(plan.k, most));
}

template <class T>
DirectWay way_of(const GemmPlan& plan) {
  const GemmKernels<T>& kernels = direct_kernels<T>(isa(), plan);
  DirectWay way;
  const bool own_type = memory_index(plan.a.dtype) == 0;
  const bool b_unit = is_unit(plan.n, plan.b.col_step, plan.b.dtype),
             c_unit = is_unit(plan.n, plan.c.col_step, plan.c.dtype);
  const bool readable = own_type && b_unit && (kernels.masks || plan.n % kernels.lanes == 0);
  const bool large = !fits_in_place(plan);
  way.packs_a = !own_type;
  way.packs_b = !readable || (large && plan.m >= many_rows && plan.k > short_k);
  way.streams = large && !way.packs_b;
  way.through_sums = memory_index(plan.c.dtype) != 0 || !c_unit;
  way.depth = depth_of(plan, way);
  way.cycles = call_cycles + tiles_cycles(plan, kernels);
  const double panels =
      static_cast<double>(ceil_div(plan.n, int64_t{kernels.tile_vectors} * kernels.lanes));
  way.cycles += panels * panel_cycles * ((way.packs_b ? 1 : 0) + (way.through_sums ? 1 : 0));
  if (way.packs_a) way.cycles += copy_cycles(plan.a, plan.m, plan.k, kernels.lanes);
  if (way.packs_b) way.cycles += copy_cycles(plan.b, plan.k, plan.n, kernels.lanes);
  if (way.through_sums) way.cycles += 2 * copy_cycles(plan.c, plan.m, plan.n, kernels.lanes);
  return way;
}

template <class T>
DirectWay cheaper_way(const GemmPlan& plan) {
  const DirectWay way = way_of<T>(plan);
  DirectWay other = way_of<T>(transposed(plan));
  other.swapped = true;
  return other.cycles < way.cycles ? other : way;
}

}  // namespace

DirectWay direct_way(const GemmPlan& plan) {
  return is_f64(plan) ? cheaper_way<double>(plan) : cheaper_way<float>(plan);
}

bool is_small(const infini::Device& device, const GemmPlan& original) {
  if (original.m == 0 || original.n == 0 || original.k == 0 || original.batch == 0) return false;
  const DirectWay way = direct_way(original);
  const GemmPlan plan = way.swapped ? transposed(original) : original;
  const int64_t bytes = is_f64(plan) ? sizeof(double) : sizeof(float);
  const int64_t a_bytes = saturating_mul(plan.m, plan.k, bytes),
                b_bytes = saturating_mul(plan.k, plan.n, bytes);
  if (way.packs_a && fits_amx(original)) return false;
  if (way.packs_a && a_bytes > most_widened_a) return false;
  if (prefers_dots(original) || (b_bytes > most_near_bytes && is_skinny(device, original)))
    return false;
  if (plan.k > short_k && plan.a.col_step != dtype_bytes(plan.a.dtype) && a_bytes > most_turned_a)
    return false;
  if (way.streams)
    return b_bytes <= most_streamed_bytes || plan.k <= short_k || (way.swapped && way.through_sums);
  const bool along = plan.b.row_step == dtype_bytes(plan.b.dtype);
  return !way.packs_b || plan.k <= short_k || b_bytes < most_copied_bytes ||
         (along && plan.m <= (plan.k <= copied_depth ? most_rows_along : most_rows_long));
}

}  // namespace infini::cpu
