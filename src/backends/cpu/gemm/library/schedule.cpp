// Cutting a product into blocks for a library, and what they cost.
#include "backends/cpu/gemm/library/schedule.h"

#include <algorithm>

#include "backends/cpu/gemm/costs.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::cpu::library {
namespace {

constexpr int64_t wanted_blocks = 16;
constexpr double least_flops = 4.0e6;  // of a block
constexpr int64_t block_unit = 16;     // edges of blocks are multiples of it

bool all_fit_an_int(std::initializer_list<int64_t> extents) {
  return std::max(extents) <= std::numeric_limits<int>::max();
}

bool is_addressable(const GemmPlan& plan) {
  const BlasMatrix c = blas_matrix(plan.c, shape_of_c(plan)),
                   a = blas_matrix(plan.a, shape_of_a(plan)),
                   b = blas_matrix(plan.b, shape_of_b(plan));
  return c.addressable && !c.columns_first && a.addressable && b.addressable &&
         all_fit_an_int({plan.m, plan.n, plan.k, c.leading, a.leading, b.leading});
}

void cut(Schedule& s, const LeastBlock& least) {
  const auto flops = [&] {
    return 2.0 * static_cast<double>(s.rows) * static_cast<double>(s.cols) *
           static_cast<double>(s.plan.k);
  };
  const auto half = [](int64_t extent) { return round_up(ceil_div(extent, 2), block_unit); };
  while (s.blocks() < wanted_blocks && flops() >= 2 * least_flops) {
    if (s.rows >= 2 * least.rows)
      s.rows = half(s.rows);
    else if (s.cols >= 2 * least.cols)
      s.cols = half(s.cols);
    else if (s.rows >= least.rows)
      s.rows = half(s.rows);  // rather too few rows than too few blocks
    else
      break;
  }
}

}  // namespace

Block Schedule::block(int64_t index) const {
  const int64_t row = index / across() % down() * rows, col = index % across() * cols;
  return {index / (down() * across()), row, col, std::min(rows, plan.m - row),
          std::min(cols, plan.n - col)};
}

std::optional<Schedule> make_schedule(const GemmPlan& given, const LeastBlock& least) {
  if (given.a.dtype != given.c.dtype || dtype_bytes(given.a.dtype) == 2 || !is_something(given))
    return std::nullopt;
  Schedule s;
  // C must have unit columns; one with unit rows is computed transposed.
  s.swapped = blas_matrix(given.c, shape_of_c(given)).columns_first;
  s.plan = s.swapped ? transposed(given) : given;
  if (!is_addressable(s.plan)) return std::nullopt;
  s.rows = s.plan.m, s.cols = s.plan.n;
  cut(s, least);
  return s;
}

double nanoseconds(const Schedule& s, const GemmTarget& target, double rate) {
  return target.facts->region_ns + products(s.plan) / rate / target.facts->threads;
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit,
                                const LeastBlock& least, double rate) {
  if (target.facts->region_ns > limit) return {.nanoseconds = target.facts->region_ns};
  auto schedule = make_schedule(plan, least);
  if (!schedule) return {.why_not = "mixed or 16-bit types, or strides that no BLAS takes"};
  const double time = nanoseconds(*schedule, target, rate);
  if (time > limit) return {.nanoseconds = time};
  return {std::move(schedule), time, ""};
}

}  // namespace infini::cpu::library
