// The walks of a tile: which loops of the plan each of them has.
#include "backends/gpu/rearrange/tile/walks.h"

#include <cstdlib>
#include <limits>

#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();

}  // namespace

TileWalks::TileWalks(const UnitNest& nest, const TileShape& shape)
    : nest_(nest),
      shape_(shape),
      run_cut_(cut_loop(shape.run_order, shape.run_length)),
      row_cut_(cut_loop(shape.row_order, shape.row_length)) {}

// The loop of a chain that the tile takes a part of: only ever the chain's outermost.
int TileWalks::cut_loop(const int* order, int length) const {
  if (length == 0) return -1;
  const int outer = order[length - 1];
  return shape_.take[outer] < nest_.loops[outer].extent ? outer : -1;
}

bool TileWalks::add_grid_loop(int i) {
  const Loop& loop = nest_.loops[i];
  const int64_t extent = ceil_div(loop.extent, shape_.take[i]);
  if (s.grid_depth == max_grid_loops || extent > grid_limit ||
      !checked_mul(tiles_, extent, tiles_) || tiles_ > grid_limit)
    return false;
  s.grid[s.grid_depth++] = {make_fast_divisor(static_cast<uint32_t>(extent)),
                            loop.dst_step * shape_.take[i], loop.src_step * shape_.take[i]};
  return true;
}

// Blocks that follow one another share the edges of runs, then of rows: cut loops go fastest.
bool TileWalks::lay_grid() {
  s.d_cut = s.s_cut = s.r_cut = -1;
  if (run_cut_ >= 0) {
    s.d_cut = s.grid_depth;
    if (!add_grid_loop(run_cut_)) return false;
  }
  if (row_cut_ >= 0) {
    s.s_cut = row_cut_ == run_cut_ ? s.d_cut : s.grid_depth;
    if (row_cut_ != run_cut_ && !add_grid_loop(row_cut_)) return false;
  }
  for (int i = nest_.depth; i-- > 0;) {
    if (shape_.take[i] == nest_.loops[i].extent || i == run_cut_ || i == row_cut_) continue;
    if (i == shape_.repeat) s.r_cut = s.grid_depth;
    if (!add_grid_loop(i)) return false;
  }
  s.tiles = static_cast<uint32_t>(tiles_);
  return true;
}

// The images' pitches come later: until then a step from row to row is 0.
bool TileWalks::lay_walks() {
  for (int n = 0; n < shape_.run_length; ++n) {
    const int i = shape_.run_order[n];
    const Loop& loop = nest_.loops[i];
    if (s.run_depth == max_tile_loops) return false;
    TileLoop position{divisor_of(shape_.take[i]), 0, loop.dst_step};
    row_of_[s.run_depth] = -1;
    if (shape_.in_row[i]) {
      position.image = static_cast<int32_t>(loop.src_step);
    } else if (loop.src_step != 0) {
      row_of_[s.run_depth] = s.row_depth;
      s.row[s.row_depth++] = {position.extent, 0, loop.src_step};
      const int64_t reach = (shape_.take[i] - 1) * loop.src_step;
      (reach < 0 ? s.rows_low : s.rows_high) += reach;
    }
    s.run[s.run_depth++] = position;
  }
  for (int n = 0; n < shape_.row_length; ++n) {
    const int i = shape_.row_order[n];
    if (shape_.in_run[i]) continue;
    if (s.runs_depth == max_tile_loops) return false;
    s.many[s.runs_depth++] = {divisor_of(shape_.take[i]),
                              static_cast<int32_t>(nest_.loops[i].src_step),
                              nest_.loops[i].dst_step};
  }
  return shape_.stack < 0 || lay_stack(nest_.loops[shape_.stack]);
}

// The outermost loop of rows and of runs alike.
bool TileWalks::lay_stack(const Loop& loop) {
  if (s.row_depth == max_tile_loops || s.runs_depth == max_tile_loops) return false;
  const FastDivisor extent = divisor_of(shape_.take[shape_.stack]);
  s.row[s.row_depth++] = {extent, 0, loop.src_step};
  s.many[s.runs_depth++] = {extent, 0, loop.dst_step};
  const int64_t reach = (shape_.take[shape_.stack] - 1) * loop.src_step;
  (reach < 0 ? s.rows_low : s.rows_high) += reach;
  return true;
}

// The part of a loop that a tile takes, or that the last tile takes.
int64_t TileWalks::take(int i, int cut, int last) const {
  if (!last || i != cut) return shape_.take[i];
  const int64_t extent = nest_.loops[i].extent;
  return extent - (ceil_div(extent, shape_.take[i]) - 1) * shape_.take[i];
}

void TileWalks::count_parts(int last) {
  int64_t positions = 1, rows = 1, runs = 1, bytes = nest_.unit, below = 0;
  for (int n = 0; n < shape_.run_length; ++n) {
    const int i = shape_.run_order[n];
    positions *= take(i, run_cut_, last);
    if (!shape_.in_row[i] && nest_.loops[i].src_step != 0) rows *= take(i, run_cut_, last);
  }
  for (int n = 0; n < shape_.row_length; ++n) {
    const int i = shape_.row_order[n];
    const int64_t reach = (take(i, row_cut_, last) - 1) * nest_.loops[i].src_step;
    bytes += std::abs(reach);
    below += reach < 0 ? -reach : 0;
    if (!shape_.in_run[i]) runs *= take(i, row_cut_, last);
  }
  if (shape_.stack >= 0) rows *= shape_.take[shape_.stack], runs *= shape_.take[shape_.stack];
  s.run_units[last] = static_cast<int32_t>(positions);
  s.rows[last] = static_cast<int32_t>(rows);
  s.runs[last] = static_cast<int32_t>(runs);
  s.row_bytes[last] = static_cast<int32_t>(bytes);
  s.below[last] = static_cast<int32_t>(below);
  const int repeat = shape_.repeat;
  s.repeats[last] = repeat < 0 ? 1 : static_cast<int32_t>(take(repeat, repeat, last));
  if (repeat >= 0) s.repeat_step = nest_.loops[repeat].dst_step;
  s.repeats_apart = static_cast<int32_t>(repeats_apart(shape_.stores, s.repeat_step));
}

}  // namespace infini::gpu
