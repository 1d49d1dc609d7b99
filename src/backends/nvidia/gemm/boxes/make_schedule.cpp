// Choosing the tiles and boxes of a box gemm, and whether to take that way at all.
#include <algorithm>
#include <iterator>

#include "backends/nvidia/gemm/boxes/schedule.h"
#include "base/checked.h"

namespace infini::nvidia {
namespace {

constexpr int64_t element = 2, engine_step = 16;  // bytes
constexpr int64_t most_extent = INT32_MAX / 2;

int64_t tiles(const GemmPlan& plan, const SmallTile& tile) {
  return plan.batch * ceil_div(plan.m, tile.rows) * ceil_div(plan.n, tile.cols);
}

// The smallest of which every processor gets no more than one; else the largest.
SmallTile choose_tile(const GemmPlan& plan, int processors) {
  const SmallTile* tile = box_tiles;
  while (tile + 1 != std::end(box_tiles) && tiles(plan, *tile) > processors) ++tile;
  return *tile;
}

BoxGemm box_gemm(const GemmPlan& plan, const SmallTile& tile) {
  const auto divisor = [](int64_t extent, int tile_extent) {
    return gpu::make_fast_divisor(static_cast<uint32_t>(ceil_div(extent, tile_extent)));
  };
  BoxGemm s{};
  s.m = static_cast<int32_t>(plan.m), s.n = static_cast<int32_t>(plan.n);
  s.pieces = static_cast<int32_t>(ceil_div(plan.k, box_depth));
  s.tile_rows = divisor(plan.m, tile.rows), s.tile_cols = divisor(plan.n, tile.cols);
  s.c_is_f32 = plan.c.dtype == INFINI_DTYPE_F32;
  s.c_row_step = plan.c.row_step, s.c_col_step = plan.c.col_step;
  s.c_batch_step = plan.c.batch_step;
  return s;
}

}  // namespace

std::optional<BoxLaunch> make_box_gemm(const GemmPlan& given, int processors) {
  const bool swapped = computes_transposed(given);
  const GemmPlan plan = swapped ? transposed(given) : given;
  if (plan.k < 1 || plan.k > most_box_pieces * box_depth) return std::nullopt;
  const auto a = box_operand_a(plan), b = box_operand_b(plan);
  const SmallTile tile = choose_tile(plan, processors);
  if (!a || !b || plan.batch > most_extent || tiles(plan, tile) > INT32_MAX) return std::nullopt;
  BoxLaunch launch{box_gemm(plan, tile), *a, *b, tile, 0, swapped, 0};
  launch.gemm.a_k_inside = a->k_inside, launch.gemm.b_k_inside = b->k_inside;
  launch.gemm.a_batched = a->batch > 1, launch.gemm.b_batched = b->batch > 1;
  launch.blocks = static_cast<uint32_t>(tiles(plan, tile));
  const int64_t out = launch.gemm.c_is_f32 ? 4 : element;
  launch.c_bits = static_cast<uint32_t>(
      plan.c.col_step == out ? plan.c.row_step | plan.c.batch_step | engine_step : out);
  return launch;
}

// Few tiles are faster fetched by threads. More tiles than processors are better left to cuBLASLt,
// and so are blocks so large that a successor's cannot wait beside them.
bool box_gemm_pays(const GemmPlan& plan, int processors) {
  constexpr uint32_t few_tiles = 8;
  const auto launch = make_box_gemm(plan, processors);
  return launch && launch->blocks > few_tiles &&
         launch->blocks <= static_cast<uint32_t>(processors) &&
         2 * (box_shared_bytes(launch->tile, launch->gemm.pieces) + driver_bytes) <=
             processor_bytes;
}

std::string to_string(const BoxLaunch& launch) {
  const auto side = [](bool k_inside) { return k_inside ? "k inside" : "k outside"; };
  return std::to_string(launch.blocks) + " tiles of " + std::to_string(launch.tile.rows) + "x" +
         std::to_string(launch.tile.cols) + ", " + std::to_string(launch.gemm.pieces) +
         " pieces of k, a " + side(launch.gemm.a_k_inside) + ", b " + side(launch.gemm.b_k_inside) +
         (launch.swapped ? ", transposed" : "");
}

}  // namespace infini::nvidia
