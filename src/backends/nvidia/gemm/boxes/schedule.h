// The box gemm schedule: small products of 16 bits whose operands the copy engine (TMA) can read.
//
// As the small gemm (see small_gemm.h), but boxes of an operand come by one instruction each, all
// of k at once: every piece of k has a place of its own in shared memory and a barrier that says
// when it is there. What lies outside a matrix arrives as zeros.
// Law: over all blocks every tile of every matrix of the batch is visited exactly once; the engine
// reads inside the operands only. C++17, constexpr where the kernel shares it.
#pragma once

#include "backends/nvidia/gemm/box_operand.h"
#include "backends/nvidia/gemm/small/schedule.h"

namespace infini::nvidia {

constexpr int most_box_pieces = 16;

// The extents of C's tiles, smallest first.
constexpr SmallTile box_tiles[] = {{16, 32}, {32, 32}, {64, 32}};

struct BoxGemm {
  int32_t m, n, pieces;
  gpu::FastDivisor tile_rows, tile_cols;  // of one matrix, in tiles
  bool a_k_inside, b_k_inside;
  bool a_batched, b_batched;  // else one matrix for all of C's
  bool c_is_f32;              // else C has A's type
  int64_t c_row_step, c_col_step, c_batch_step;
};
static_assert(sizeof(BoxGemm) <= 128, "the driver copies arguments with every launch");

struct BoxLaunch {
  BoxGemm gemm;
  BoxOperand a, b;
  SmallTile tile;
  uint32_t blocks;
  bool swapped;     // a and b have changed places: C is computed transposed
  uint32_t c_bits;  // see unit_of(): 16 when C can be written in vectors
};

// The bytes of a piece's boxes.
constexpr int piece_bytes(const SmallTile& tile) {
  return box_bytes(tile.rows) + box_bytes(tile.cols);
}

constexpr int sum_pitch(const SmallTile& tile) { return tile.cols + 8; }

// A block's shared memory: room to align the boxes, the pieces (later the groups' sums), and a
// barrier for each piece.
constexpr int barriers_at(const SmallTile& tile, int pieces) {
  const int room = pieces * piece_bytes(tile),
            sums = k_groups_16_bit * tile.rows * sum_pitch(tile) * int{sizeof(float)};
  return room > sums ? room : sums;
}
constexpr int box_shared_bytes(const SmallTile& tile, int pieces) {
  return box_alignment + barriers_at(tile, pieces) + pieces * barrier_bytes;
}

// Nothing unless both operands have 16 bits, lines of elements side by side and steps that are
// multiples of 16 bytes, and k has at most most_box_pieces. `processors` are to be kept busy. The
// bases must be multiples of 16 bytes, too.
std::optional<BoxLaunch> make_box_gemm(const GemmPlan& plan, int processors);

// Whether that is at least as fast as cuBLASLt and the small gemm, as measured on an H200.
bool box_gemm_pays(const GemmPlan& plan, int processors);

std::string to_string(const BoxLaunch& launch);

}  // namespace infini::nvidia
