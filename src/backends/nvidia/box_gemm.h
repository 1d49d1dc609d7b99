// The box gemm schedule: small products of 16 bits whose operands the copy engine (TMA) can read.
//
// As the small gemm (see small_gemm.h), but boxes of an operand come by one instruction each, all
// of k at once: every piece of k has a place of its own in shared memory and a barrier that says
// when it is there. What lies outside a matrix arrives as zeros.
// Law: over all blocks every tile of every matrix of the batch is visited exactly once; the engine
// reads inside the operands only. C++17, constexpr where the kernel shares it.
#pragma once

#include "small_gemm.h"

namespace infini::nvidia {

constexpr int box_depth = small_line_bytes / 2;  // elements of k in a piece
constexpr int most_box_pieces = 16;
constexpr int box_alignment = 1024;  // of boxes in shared memory: one period of the widest swizzle

// The extents of C's tiles, smallest first.
constexpr SmallTile box_tiles[] = {{16, 32}, {32, 32}, {64, 32}};

// A or B as the copy engine sees it: matrices of lines of elements side by side. Steps are bytes.
struct BoxOperand {
  bool k_inside;                // lines run along k, else along x
  int64_t inner, outer, batch;  // extents; a batch of 1 for all matrices of C
  int64_t outer_step, batch_step;
};

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
constexpr int box_bytes(int extent) { return extent * small_line_bytes; }
constexpr int piece_bytes(const SmallTile& tile) {
  return box_bytes(tile.rows) + box_bytes(tile.cols);
}

constexpr int sum_pitch(const SmallTile& tile) { return tile.cols + 8; }

// A block's shared memory: room to align the boxes, the pieces (later the groups' sums), and a
// barrier for each piece.
constexpr int barrier_bytes = 8;
constexpr int barriers_at(const SmallTile& tile, int pieces) {
  const int room = pieces * piece_bytes(tile),
            sums = k_groups_16_bit * tile.rows * sum_pitch(tile) * int{sizeof(float)};
  return room > sums ? room : sums;
}
// What a processor has (sm_90), and what the driver takes of it for each block.
constexpr int processor_bytes = 228 << 10, driver_bytes = 1 << 10;
constexpr int box_shared_bytes(const SmallTile& tile, int pieces) {
  return box_alignment + barriers_at(tile, pieces) + pieces * barrier_bytes;
}

// Where element (x, k) lies in an operand's box of `extent` × box_depth. Lines are as long as the
// box is wide, without gaps; the engine spreads their vectors of 16 bytes over the banks: a
// vector's number in its line is xored with the number of its 128 bytes in the box.
constexpr uint32_t place_in_box(int extent, int x, int k, bool k_inside) {
  const uint32_t line_bytes = k_inside ? small_line_bytes : static_cast<uint32_t>(extent) * 2;
  const uint32_t line = static_cast<uint32_t>(k_inside ? x : k) * line_bytes,
                 inner = static_cast<uint32_t>(k_inside ? k : x) * 2;
  const uint32_t turn = (line / 128) % (line_bytes / 16) * 16;
  return line + (inner ^ turn);
}

// Nothing unless both operands have 16 bits, lines of elements side by side and steps that are
// multiples of 16 bytes, and k has at most most_box_pieces. `processors` are to be kept busy. The
// bases must be multiples of 16 bytes, too.
std::optional<BoxLaunch> make_box_gemm(const GemmPlan& plan, int processors);

// Whether that is at least as fast as cuBLASLt and the small gemm, as measured on an H200.
bool box_gemm_pays(const GemmPlan& plan, int processors);

std::string to_string(const BoxLaunch& launch);

}  // namespace infini::nvidia
