// How a weights gemm is cut into blocks, and whether to take that way at all.
#include <algorithm>

#include "backends/nvidia/gemm/weights/schedule.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::nvidia {
namespace {

constexpr int64_t least_steps = 2;  // of a block
// Of the weights: where it was measured; and with how many blocks, where they last long.
constexpr int64_t least_bytes = 2'000'000, most_bytes = 150'000'000, long_bytes = 60'000'000,
                  least_blocks_long = 60;

// Blocks for half of the processors.
int split_of(int64_t tiles, int64_t steps, int processors) {
  int split = 1;
  while (split < most_weights_split && 4 * split * tiles <= processors &&
         steps >= 2 * split * least_steps)
    split *= 2;
  return split;
}

}  // namespace

std::optional<WeightsLaunch> make_weights_gemm(const GemmPlan& given, int processors) {
  const bool swapped = given.m <= given.n;
  const GemmPlan plan = swapped ? transposed(given) : given;
  if (plan.batch < 1 || plan.m < 1 || plan.n < 1 || plan.n > most_weights_columns || plan.k < 1)
    return std::nullopt;
  const auto a = box_operand_a(plan), b = box_operand_b(plan);
  if (!a || !b || !b->k_inside) return std::nullopt;
  WeightsLaunch launch{};
  launch.tile = plan.n <= weights_tiles[0].cols ? 0 : 1;
  const RingTile& tile = weights_tiles[launch.tile];
  const int64_t rows = ceil_div(plan.m, int64_t{tile.rows}), tiles = plan.batch * rows,
                steps = ceil_div(plan.k, int64_t{tile.boxes} * box_depth);
  if (tiles > INT32_MAX) return std::nullopt;
  launch.split.blocks = split_of(tiles, steps, processors);
  launch.split.steps = static_cast<int>(ceil_div(steps, int64_t{launch.split.blocks}));
  RingGemm& s = launch.gemm;
  s.m = static_cast<int32_t>(plan.m), s.n = static_cast<int32_t>(plan.n);
  s.steps = static_cast<int32_t>(steps);
  s.places = std::min(launch.split.steps, tile.alone);
  s.tile_rows = gpu::make_fast_divisor(static_cast<uint32_t>(rows));
  s.tile_cols = gpu::make_fast_divisor(1);
  s.a_k_inside = a->k_inside, s.b_k_inside = true;
  s.a_batched = a->batch > 1, s.b_batched = b->batch > 1;
  s.c_is_f32 = plan.c.dtype == INFINI_DTYPE_F32;
  s.c_row_step = plan.c.row_step, s.c_col_step = plan.c.col_step;
  s.c_batch_step = plan.c.batch_step;
  launch.a = *a, launch.b = *b;
  launch.swapped = swapped;
  launch.blocks = static_cast<uint32_t>(tiles * launch.split.blocks);
  return launch;
}

// Blocks for up to half of the processors leave the other half to the next product; else there
// should be work for nearly all, and not more: what is left over would wait, and most of the chip
// for it.
bool weights_gemm_pays(const GemmPlan& plan, int processors) {
  const auto launch = make_weights_gemm(plan, processors);
  if (!launch) return false;
  const int64_t bytes = 2 * plan.batch * std::max(plan.m, plan.n) * plan.k, blocks = launch->blocks;
  if (bytes < least_bytes || bytes > most_bytes ||
      (bytes > long_bytes && blocks < least_blocks_long))
    return false;
  return 2 * blocks <= processors || (10 * blocks >= 9 * processors && blocks <= processors);
}

std::string to_string(const WeightsLaunch& launch) {
  const RingTile& tile = weights_tiles[launch.tile];
  return std::to_string(launch.blocks) + " blocks, " + std::to_string(launch.split.blocks) +
         " for a tile of " + std::to_string(tile.rows) + "x" + std::to_string(tile.cols) +
         ", up to " + std::to_string(launch.split.steps) + " steps of " +
         std::to_string(tile.boxes * box_depth) + " along k each, through " +
         std::to_string(launch.gemm.places) + " places, weights with k " +
         (launch.gemm.a_k_inside ? "inside" : "outside") + (launch.swapped ? ", transposed" : "");
}

}  // namespace infini::nvidia
