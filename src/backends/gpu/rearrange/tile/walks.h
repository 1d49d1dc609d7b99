// The walks of a tile: the grid, and the loops of rows, runs and positions, before they have places in shared memory.
#pragma once

#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/tile/shape.h"

namespace infini::gpu {

constexpr FastDivisor divisor_of(int64_t n) { return make_fast_divisor(static_cast<uint32_t>(n)); }

class TileWalks {
 public:
  TileWalks(const UnitNest& nest, const TileShape& shape);

 protected:
  // False where the schedule's arrays or the grid cannot hold it.
  bool lay_grid();
  bool lay_walks();
  // How much of everything a tile has, or the last one of a cut loop.
  void count_parts(int last);

  const UnitNest& nest_;
  const TileShape& shape_;
  TileSchedule s{};
  int row_of_[max_tile_loops] = {};  // of a loop of the run: which loop of the rows it is, or -1

 private:
  int cut_loop(const int* order, int length) const;
  bool add_grid_loop(int i);
  bool lay_stack(const Loop& loop);
  int64_t take(int i, int cut, int last) const;

  int run_cut_, row_cut_;
  int64_t tiles_ = 1;
};

}  // namespace infini::gpu
