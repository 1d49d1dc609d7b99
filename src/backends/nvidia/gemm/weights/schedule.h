// The weights gemm schedule: up to 16 rows against a large matrix of 16 bits, the weights of a
// layer, by one launch at the speed of memory (sm_90a).
//
// The product is computed with the weights on the left: 64 rows of theirs are a tile of a ring gemm
// (ring_gemm.h), and the few rows (of A, where the weights are B) are its columns. Half of the
// processors have deep enough rings to keep memory busy; the other half has room for the next
// product, whose blocks are ready when this one ends. Where there are fewer tiles, `split` blocks
// share the k of each; the first of them adds what the others send it, in the order of k. Law: over
// all blocks every step along k of every tile of every matrix of the batch is taken exactly once.
// C++17, constexpr where the kernel shares it.
#pragma once

#include <optional>
#include <string>

#include "backends/nvidia/gemm/ring/schedule.h"

namespace infini::nvidia {

// By the number of columns. A processor has room for one block.
constexpr RingTile weights_tiles[] = {{64, 8, 2, 7, 7, 0, no_team}, {64, 16, 2, 7, 7, 0, no_team}};
constexpr int most_weights_columns = 16, most_weights_split = 8;

// How the blocks of a tile share its k.
struct WeightsSplit {
  int blocks;  // of a tile
  int steps;   // of a block, at most
};

struct WeightsLaunch {
  RingGemm gemm;
  BoxOperand a, b;  // a: the weights
  int tile;         // of weights_tiles
  WeightsSplit split;
  bool swapped;  // the weights were B: C is computed transposed
  uint32_t blocks;
};

// A block's share of its tile's k, in steps.
struct WeightsShare {
  int first, steps;
};
constexpr WeightsShare weights_share(const WeightsSplit& split, int all_steps, int rank) {
  const int first = rank * split.steps, left = all_steps - first;
  return {first, left < 0 ? 0 : left < split.steps ? left : split.steps};
}

// Behind the ring: what the other blocks of a tile send to the first one.
constexpr int weights_room(const RingTile& tile, int places) {
  return (ring_shared_bytes(tile, places) + 15) / 16 * 16;
}
constexpr int weights_shared_bytes(const RingTile& tile, int places, int split) {
  return weights_room(tile, places) + (split - 1) * tile.rows * tile.cols * int{sizeof(float)};
}

// Nothing unless there are few rows or columns, and the engine can read both operands. Their bases
// must be multiples of 16 bytes, too.
std::optional<WeightsLaunch> make_weights_gemm(const GemmPlan& plan, int processors);

// Whether that is faster than cuBLASLt, as measured on an H200.
bool weights_gemm_pays(const GemmPlan& plan, int processors);

std::string to_string(const WeightsLaunch& launch);

}  // namespace infini::nvidia
