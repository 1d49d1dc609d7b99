// Choosing the tiles of a ring gemm, and whether to take that way at all.
#include <algorithm>
#include <iterator>

#include "backends/nvidia/gemm/ring/schedule.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::nvidia {
namespace {

constexpr int64_t most_extent = INT32_MAX / 2;

const RingTeam& team_of(const RingTile& tile, bool in_teams) {
  return in_teams ? tile.team : no_team;
}

int64_t blocks(const GemmPlan& plan, const RingTile& tile, bool in_teams) {
  const RingTeam& team = team_of(tile, in_teams);
  return plan.batch * ceil_div(plan.m, tile.rows * team.rows) *
         ceil_div(plan.n, tile.cols * team.cols) * team.rows * team.cols;
}

// What the busiest processor has to do.
int64_t nanoseconds(const GemmPlan& plan, const RingTile& tile, bool in_teams, int processors) {
  return ceil_div(blocks(plan, tile, in_teams), processors) * ceil_div(plan.k, box_depth) *
         (in_teams ? tile.team.nanoseconds : tile.nanoseconds);
}

int choose_tile(const GemmPlan& plan, bool in_teams, int processors) {
  const auto less = [&](const RingTile& x, const RingTile& y) {
    if (in_teams && x.team.nanoseconds * y.team.nanoseconds == 0)
      return x.team.nanoseconds > y.team.nanoseconds;
    return nanoseconds(plan, x, in_teams, processors) < nanoseconds(plan, y, in_teams, processors);
  };
  return static_cast<int>(std::min_element(std::begin(ring_tiles), std::end(ring_tiles), less) -
                          ring_tiles);
}

RingGemm ring_gemm(const GemmPlan& plan, const RingTile& tile, bool in_teams, int processors) {
  const auto divisor = [](int64_t extent, int tile_extent) {
    return gpu::make_fast_divisor(static_cast<uint32_t>(ceil_div(extent, tile_extent)));
  };
  const RingTeam& team = team_of(tile, in_teams);
  RingGemm s{};
  s.m = static_cast<int32_t>(plan.m), s.n = static_cast<int32_t>(plan.n);
  s.steps = static_cast<int32_t>(ceil_div(plan.k, tile.boxes * box_depth));
  s.places = std::min(s.steps, in_teams                                     ? team.places
                               : blocks(plan, tile, in_teams) <= processors ? tile.alone
                                                                            : tile.beside);
  s.tile_rows = divisor(plan.m, tile.rows * team.rows);
  s.tile_cols = divisor(plan.n, tile.cols * team.cols);
  s.c_is_f32 = plan.c.dtype == INFINI_DTYPE_F32;
  s.c_row_step = plan.c.row_step, s.c_col_step = plan.c.col_step;
  s.c_batch_step = plan.c.batch_step;
  return s;
}

// Vectors of C never reach over the end of a row.
uint32_t c_bits(const GemmPlan& plan) {
  const int64_t out = dtype_bytes(plan.c.dtype);
  return static_cast<uint32_t>(
      plan.c.col_step == out ? plan.c.row_step | plan.c.batch_step | plan.n * out | 16 : out);
}

bool lines_at(int64_t unit, const BoxOperand& a, const BoxOperand& b) {
  const auto at = [&](const BoxOperand& x) {
    return (x.outer_step | (x.batch > 1 ? x.batch_step : 0)) % unit == 0;
  };
  return at(a) && at(b);
}

int64_t bytes(const GemmOperand& x, const OperandShape& shape) {
  return (x.batch_step == 0 ? 1 : shape.batch) * shape.rows * shape.cols * dtype_bytes(x.dtype);
}

// All processors fetch much that serves few: more than the cache gives.
bool is_crowded(const GemmPlan& plan, const RingTile& tile, int processors) {
  constexpr int64_t most_fetched = 30'000'000, least_reuse = 10;
  const int64_t count = blocks(plan, tile, false),
                unique = bytes(plan.a, shape_of_a(plan)) + bytes(plan.b, shape_of_b(plan)),
                fetched = count * ring_piece_bytes(tile) * ceil_div(plan.k, box_depth);
  return 3 * count > 2 * processors && fetched > most_fetched && fetched < least_reuse * unique;
}

// Where it was measured level or faster (H200, beside cuBLASLt and `boxes` in turns):
// - Enough tiles. Fewer than one for so many processors, and smaller tiles are faster.
constexpr int64_t least_busy_short_k = 9, least_busy = 5, least_busy_team = 3, short_k = 1024;
// - Operands that the cache has at hand on both of its sides.
constexpr int64_t most_bytes = 18'000'000;
// - Little waste at the edges, in per cent of the tiles; more where all is over soon, or where
//   cuBLASLt is slow, too.
constexpr int64_t least_use = 91, least_use_short = 75, least_use_team = 79,
                  short_nanoseconds = 2000;
// - After ten microseconds a caller does not notice what a call of cuBLASLt costs the host.
constexpr int64_t most_nanoseconds = 10'000, most_nanoseconds_small_team = 5'500;

}  // namespace

std::optional<RingLaunch> make_ring_gemm(const GemmPlan& given, int processors) {
  const bool swapped = computes_transposed(given);
  const GemmPlan plan = swapped ? transposed(given) : given;
  const auto a = box_operand_a(plan), b = box_operand_b(plan);
  if (!a || !b || plan.batch < 1 || plan.k < 1 || plan.batch > most_extent) return std::nullopt;
  // Lines that begin anywhere in a line of the cache take the engine twice as long, those that
  // begin in its middle hardly longer. What takes long is better shared.
  const bool in_teams = !lines_at(box_line_bytes / 2, *a, *b);
  const int tile = choose_tile(plan, in_teams, processors);
  const int64_t count = blocks(plan, ring_tiles[tile], in_teams);
  if (count > INT32_MAX) return std::nullopt;
  RingLaunch launch{};
  launch.gemm = ring_gemm(plan, ring_tiles[tile], in_teams, processors);
  launch.a = *a, launch.b = *b;
  launch.gemm.a_k_inside = a->k_inside, launch.gemm.b_k_inside = b->k_inside;
  launch.gemm.a_batched = a->batch > 1, launch.gemm.b_batched = b->batch > 1;
  launch.tile = tile, launch.in_teams = in_teams, launch.swapped = swapped;
  launch.blocks = static_cast<uint32_t>(count);
  launch.c_bits = c_bits(plan);
  return launch;
}

bool ring_gemm_pays(const GemmPlan& plan, int processors) {
  const auto launch = make_ring_gemm(plan, processors);
  if (!launch) return false;
  const GemmPlan computed = launch->swapped ? transposed(plan) : plan;
  const RingTile& tile = ring_tiles[launch->tile];
  const bool in_teams = launch->in_teams, low = tile.rows == group_rows;
  const int64_t count = launch->blocks, area = count * tile.rows * tile.cols,
                time = nanoseconds(computed, tile, in_teams, processors),
                all = bytes(plan.a, shape_of_a(plan)) + bytes(plan.b, shape_of_b(plan)) +
                      bytes(plan.c, shape_of_c(plan));
  const bool busy = count * (in_teams            ? least_busy_team
                             : plan.k <= short_k ? least_busy_short_k
                                                 : least_busy) >=
                    processors;
  const bool fast = in_teams ? time <= (low ? most_nanoseconds_small_team : most_nanoseconds)
                             : (low || lines_at(box_line_bytes, launch->a, launch->b)) &&
                                   !is_crowded(computed, tile, processors);
  const int64_t use = in_teams                    ? least_use_team
                      : time <= short_nanoseconds ? least_use_short
                                                  : least_use;
  return busy && fast && all <= most_bytes && time <= most_nanoseconds &&
         100 * plan.batch * plan.m * plan.n >= use * area;
}

int64_t ring_gemm_ns(const RingLaunch& launch, const GemmPlan& plan, int processors) {
  return nanoseconds(launch.swapped ? transposed(plan) : plan, ring_tiles[launch.tile],
                     launch.in_teams, processors);
}

std::string to_string(const RingLaunch& launch) {
  const RingTile& tile = ring_tiles[launch.tile];
  const auto side = [](bool k_inside) { return k_inside ? "k inside" : "k outside"; };
  const std::string teams = launch.in_teams ? " in teams of " + std::to_string(tile.team.rows) +
                                                  "x" + std::to_string(tile.team.cols)
                                            : "";
  return std::to_string(launch.blocks) + " tiles of " + std::to_string(tile.rows) + "x" +
         std::to_string(tile.cols) + teams + ", " + std::to_string(launch.gemm.steps) +
         " steps of " + std::to_string(tile.boxes * box_depth) + " along k through " +
         std::to_string(launch.gemm.places) + " places, a " + side(launch.gemm.a_k_inside) +
         ", b " + side(launch.gemm.b_k_inside) + (launch.swapped ? ", transposed" : "");
}

std::string arithmetic_of(const RingLaunch& launch, infiniDtype_t dtype) {
  const RingGemm& s = launch.gemm;
  return std::string("ring ") + dtype_name(dtype) + (s.c_is_f32 ? " to f32, " : ", ") +
         std::to_string(launch.a.k_inside ? launch.a.inner : launch.a.outer) + " along k";
}

}  // namespace infini::nvidia
