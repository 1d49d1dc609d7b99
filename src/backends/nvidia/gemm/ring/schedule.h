// The ring gemm schedule: products of 16 bits, of medium size, by one launch of warpgroup matrix
// units (wgmma, sm_90a).
//
// One block has one tile of C. A warp of its own asks the copy engine for boxes of A and B, step by
// step along k, into a ring of places in shared memory; groups of four warps multiply what has
// arrived, 64 rows of the tile each, and give the places back.
// Law: over all blocks every tile of every matrix of the batch is visited exactly once; every sum
// is taken in the order of k, whatever the tile, the ring and the operands' strides. C++17,
// constexpr where the kernel shares it.
#pragma once

#include <optional>
#include <string>

#include "backends/nvidia/gemm/box_operand.h"
#include "backends/nvidia/gemm/tile_place.h"

namespace infini::nvidia {

constexpr int group_threads = 128, group_rows = 64;  // of a warpgroup
constexpr int unit_depth = 16;                       // elements of k that one instruction takes

// An operand with k outside lies in strips, one behind the other: as wide as a swizzled line.
constexpr int ring_strip = 64, ring_strip_bytes = box_depth * box_line_bytes;

// Neighbouring blocks that fetch for each other: those with the same rows of C share what they need
// of A, those with the same columns what they need of B. Each orders its part of a box for all.
struct RingTeam {
  int rows, cols;  // blocks
  int places;      // in the ring
  int nanoseconds;
};
constexpr RingTeam no_team{1, 1, 0, 0};

struct RingTile {
  int rows, cols;
  int boxes;          // pieces of k in a step, box_depth each
  int alone, beside;  // places in the ring: of the only block of a processor, or one of several
  int nanoseconds;    // for a piece of k
  RingTeam team;
};

// The fewer instructions a step has, the less they hide of what it costs to take part in it: hence
// two boxes for the smallest tile. Rings and times as measured on an H200; where a ring leaves room
// for a second block although there is none, a successor that was launched early waits there.
constexpr RingTile ring_tiles[] = {{64, 64, 2, 6, 3, 180, {2, 2, 3, 220}},
                                   {64, 128, 1, 4, 4, 250, {2, 1, 4, 350}},
                                   {192, 64, 1, 6, 3, 310, no_team},
                                   {128, 128, 1, 3, 3, 355, {2, 2, 6, 380}}};

constexpr int ring_threads(const RingTile& tile) {
  return tile.rows / group_rows * group_threads + 32;
}

struct RingGemm {
  int32_t m, n, steps, places;
  gpu::FastDivisor tile_rows, tile_cols;  // of one matrix, in tiles or in teams' tiles
  bool a_k_inside, b_k_inside;
  bool a_batched, b_batched;  // else one matrix for all of C's
  bool c_is_f32;              // else C has A's type
  int64_t c_row_step, c_col_step, c_batch_step;
};
static_assert(sizeof(RingGemm) <= 128, "the driver copies arguments with every launch");

struct RingLaunch {
  RingGemm gemm;
  BoxOperand a, b;
  int tile;  // of ring_tiles
  bool in_teams;
  uint32_t blocks;
  bool swapped;     // a and b have changed places: C is computed transposed
  uint32_t c_bits;  // see unit_of(): 16 when C can be written in vectors
};

// The tile of a block of a team; it may lie outside of C.
template <class Schedule>
constexpr SmallPlace place_in_team(const Schedule& s, uint32_t block, const RingTile& tile,
                                   const RingTeam& team) {
  const auto size = static_cast<uint32_t>(team.rows * team.cols);
  const auto rank = static_cast<int>(block % size);
  SmallPlace place =
      place_tile(s, block / size, SmallTile{tile.rows * team.rows, tile.cols * team.cols});
  place.row += rank / team.cols * tile.rows;
  place.col += rank % team.cols * tile.cols;
  return place;
}

// The lines of a box when `parts` blocks share an operand's `extent`: with k outside they share
// strips while there are enough, then lines of k.
constexpr int ring_box_lines(int extent, int parts, bool k_inside) {
  const int strips = extent / ring_strip;
  return k_inside ? extent / parts : parts <= strips ? box_depth : box_depth * strips / parts;
}

// A block's shared memory: room to align the places, the places, and for each two barriers: its
// boxes are there, and it is free again. In a place a piece of A comes before its piece of B.
constexpr int ring_piece_bytes(const RingTile& tile) {
  return box_bytes(tile.rows) + box_bytes(tile.cols);
}
constexpr int ring_place_bytes(const RingTile& tile) { return tile.boxes * ring_piece_bytes(tile); }
constexpr int ring_shared_bytes(const RingTile& tile, int places) {
  return box_alignment + places * (ring_place_bytes(tile) + 2 * barrier_bytes);
}

// Where element (x, k) of a piece lies, from where the piece of its operand begins.
constexpr uint32_t place_in_ring(int x, int k, bool k_inside) {
  return k_inside ? place_in_box(0, x, k, true)
                  : static_cast<uint32_t>(x / ring_strip * ring_strip_bytes) +
                        place_in_box(ring_strip, x % ring_strip, k, false);
}

// How the matrix units find an operand: a descriptor as NVIDIA documents it for lines of 128
// swizzled bytes. Eight lines are a block of 1024 bytes; blocks follow one another along x (k
// inside) or along k (k outside), where the next 64 elements of x come a strip later.
constexpr uint64_t units_descriptor(uint32_t address, bool k_inside) {
  constexpr uint64_t lines_of_128 = 1;
  const uint64_t strip_step = k_inside ? 16 : ring_strip_bytes, block_step = box_alignment;
  return (address & 0x3ffff) >> 4 | (strip_step >> 4) << 16 | (block_step >> 4) << 32 |
         lines_of_128 << 62;
}
// From one instruction's elements to the next one's, in the descriptor's units of 16 bytes.
constexpr uint64_t units_step(bool k_inside) {
  return static_cast<uint64_t>(k_inside ? unit_depth * 2 : unit_depth * box_line_bytes) >> 4;
}

// Nothing unless both operands are such that the engine can read them. `processors` are to be kept
// busy. The bases must be multiples of 16 bytes, too.
std::optional<RingLaunch> make_ring_gemm(const GemmPlan& plan, int processors);

// Whether that is at least as fast as cuBLASLt and the box gemm, as measured on an H200.
bool ring_gemm_pays(const GemmPlan& plan, int processors);

// What the busiest processor has to do.
int64_t ring_gemm_ns(const RingLaunch& launch, const GemmPlan& plan, int processors);

std::string to_string(const RingLaunch& launch);

// What the bits depend on. Law: k alone; not on the tile, nor on how A and B lie.
std::string arithmetic_of(const RingLaunch& launch, infiniDtype_t dtype);

}  // namespace infini::nvidia
