// Choosing the tiles of a small gemm, and whether to take that way at all.
#include <algorithm>
#include <cstdlib>

#include "backends/nvidia/gemm/small/schedule.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::nvidia {
namespace {

constexpr int64_t most_offset = INT32_MAX / 2;  // tiles may reach over the edge of a matrix
constexpr uint32_t vector_bytes = 16;

bool offsets_fit(const GemmOperand& x, const OperandShape& shape) {
  const ByteRange range = operand_range(x, shape);
  return range.begin >= -most_offset && range.end <= most_offset;
}

struct Direction {
  int64_t step, extent;
};

// The direction along which elements are neighbours lies inside; one of extent 1 always does.
SmallOperand small_operand(const Direction& x, const Direction& k, int64_t batch_step,
                           int64_t bytes) {
  const auto distance = [&](const Direction& d) {
    return d.extent == 1 ? bytes : std::abs(d.step);
  };
  const bool k_inside = k.step == bytes || (x.step != bytes && distance(k) <= distance(x));
  return {static_cast<int32_t>(x.step), static_cast<int32_t>(k.step),
          static_cast<int32_t>(batch_step), k_inside};
}

// A word never reaches from inside an operand's lines to the outside, and always lies at a multiple
// of its own size: the bits of all that words begin and end at.
uint32_t unit_bits(const SmallOperand& s, const Direction& x, const Direction& k, int64_t bytes) {
  const Direction &inner = s.k_inside ? k : x, &outer = s.k_inside ? x : k;
  if (inner.step != bytes && inner.extent != 1) return static_cast<uint32_t>(bytes);
  return static_cast<uint32_t>(inner.extent * bytes) | static_cast<uint32_t>(outer.step) |
         static_cast<uint32_t>(s.batch_step) | vector_bytes;
}

int64_t tiles(const GemmPlan& plan, const SmallTile& tile) {
  return plan.batch * ceil_div(plan.m, tile.rows) * ceil_div(plan.n, tile.cols);
}

// Small tiles while every processor gets no more than one, or where large ones would not be fewer.
SmallTile choose_tile(const GemmPlan& plan, int processors) {
  if (plan.a.dtype == INFINI_DTYPE_F64) return small_tile;
  const SmallTile large = plan.a.dtype == INFINI_DTYPE_F32 ? large_tile_f32 : large_tile_16_bit;
  const int64_t count = tiles(plan, small_tile);
  return count <= processors || tiles(plan, large) == count ? small_tile : large;
}

// The kernel counts bytes, rows and blocks in 32 bits.
bool numbers_fit(const GemmPlan& plan, const SmallTile& tile) {
  return offsets_fit(plan.a, shape_of_a(plan)) && offsets_fit(plan.b, shape_of_b(plan)) &&
         offsets_fit(plan.c, shape_of_c(plan)) && tiles(plan, tile) <= INT32_MAX &&
         std::max({plan.m, plan.n, plan.k}) <= most_offset;
}

bool is_small(const SmallTile& tile) {
  return tile.rows == small_tile.rows && tile.cols == small_tile.cols;
}

// How much a processor may have to do, in pieces of k: beyond that cuBLASLt is faster. It has other
// kernels for vectors, and is slow itself where 16-bit rows are not aligned.
struct Limit {
  int64_t turns, pieces;  // tiles that a processor takes one after another; pieces over all turns
};

Limit limit_for(const GemmPlan& plan, const SmallTile& tile) {
  const bool vector = plan.m == 1 || plan.n == 1;
  switch (plan.a.dtype) {
    case INFINI_DTYPE_F64: return {8, 8};
    case INFINI_DTYPE_F32: return is_small(tile) ? Limit{8, vector ? 8 : 16} : Limit{3, 12};
    default: return is_small(tile) ? Limit{8, 16} : Limit{2, 5};
  }
}

}  // namespace

std::optional<SmallLaunch> make_small_gemm(const GemmPlan& given, int processors) {
  const bool swapped = computes_transposed(given);
  const GemmPlan plan = swapped ? transposed(given) : given;
  const SmallTile tile = choose_tile(plan, processors);
  if (!numbers_fit(plan, tile)) return std::nullopt;
  const int64_t bytes = dtype_bytes(plan.a.dtype);
  const Direction m{plan.a.row_step, plan.m}, a_k{plan.a.col_step, plan.k},
      n{plan.b.col_step, plan.n}, b_k{plan.b.row_step, plan.k};
  SmallLaunch launch{};
  SmallGemm& s = launch.gemm;
  s.m = static_cast<int32_t>(plan.m), s.n = static_cast<int32_t>(plan.n);
  s.k = static_cast<int32_t>(plan.k);
  const auto divisor = [](int64_t extent, int tile_extent) {
    return gpu::make_fast_divisor(static_cast<uint32_t>(ceil_div(extent, tile_extent)));
  };
  s.tile_rows = divisor(plan.m, tile.rows), s.tile_cols = divisor(plan.n, tile.cols);
  s.a = small_operand(m, a_k, plan.a.batch_step, bytes);
  s.b = small_operand(n, b_k, plan.b.batch_step, bytes);
  s.c_row_step = static_cast<int32_t>(plan.c.row_step);
  s.c_col_step = static_cast<int32_t>(plan.c.col_step);
  s.c_batch_step = static_cast<int32_t>(plan.c.batch_step);
  s.c_is_f32 = plan.c.dtype == INFINI_DTYPE_F32;
  launch.tile = tile;
  launch.blocks = static_cast<uint32_t>(tiles(plan, tile));
  launch.pieces = static_cast<int>(ceil_div(plan.k * bytes, small_line_bytes));
  launch.swapped = swapped;
  launch.a_bits = unit_bits(s.a, m, a_k, bytes);
  launch.b_bits = unit_bits(s.b, n, b_k, bytes);
  return launch;
}

bool small_gemm_pays(const GemmPlan& plan, int processors) {
  const auto launch = make_small_gemm(plan, processors);
  if (!launch) return false;
  const Limit limit = limit_for(plan, launch->tile);
  const int64_t turns = ceil_div(launch->blocks, processors);
  const int unit = std::min(unit_of(launch->a_bits, 0), unit_of(launch->b_bits, 0));
  const int64_t fetches = dtype_bytes(plan.a.dtype) == 2 ? 1 : 16 / unit;
  return turns <= limit.turns && turns * launch->pieces * fetches <= limit.pieces;
}

std::string to_string(const SmallLaunch& launch) {
  const auto side = [](const SmallOperand& x) { return x.k_inside ? "k inside" : "k outside"; };
  return std::to_string(launch.blocks) + " tiles of " + std::to_string(launch.tile.rows) + "x" +
         std::to_string(launch.tile.cols) + ", " + std::to_string(launch.pieces) +
         " pieces of k, a " + side(launch.gemm.a) + ", b " + side(launch.gemm.b) +
         (launch.swapped ? ", transposed" : "");
}

std::string arithmetic_of(const SmallLaunch& launch, infiniDtype_t dtype) {
  const SmallGemm& s = launch.gemm;
  return std::string("small ") + dtype_name(dtype) + (s.c_is_f32 ? " to f32, " : ", ") +
         std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " in " +
         std::to_string(launch.blocks) + " tiles of " + std::to_string(launch.tile.rows) + "x" +
         std::to_string(launch.tile.cols) + (launch.swapped ? ", transposed" : "");
}

}  // namespace infini::nvidia
