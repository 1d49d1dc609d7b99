// Tiles of C, and where a block's tile lies: what the schedules of products share.
//
// C++17, constexpr where kernels share it.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "backends/gpu/fast_divide.h"
#include "plan/gemm/gemm_plan.h"

namespace infini::nvidia {

// The extents of a tile.
struct SmallTile {
  int rows, cols;
};

// Where a block's tile begins.
struct SmallPlace {
  int32_t batch, row, col;
};

template <class Schedule>
constexpr SmallPlace place_tile(const Schedule& s, uint32_t block, const SmallTile& tile) {
  SmallPlace place{0, 0, 0};
  place.col = static_cast<int32_t>(gpu::take_digit(block, s.tile_cols)) * tile.cols;
  place.row = static_cast<int32_t>(gpu::take_digit(block, s.tile_rows)) * tile.rows;
  place.batch = static_cast<int32_t>(block);
  return place;
}

// True when C is to be computed transposed, since its columns are contiguous: neighbouring threads write along rows.
inline bool computes_transposed(const GemmPlan& plan) {
  return std::abs(plan.c.col_step) > std::abs(plan.c.row_step) && plan.n > 1;
}

// The widest word of up to 16 bytes that every fetch from an operand may use, given its base.
constexpr int unit_of(uint32_t bits, uintptr_t base) {
  const auto all = static_cast<uint32_t>(base) | bits;
  return static_cast<int>(all & (~all + 1));
}

}  // namespace infini::nvidia
