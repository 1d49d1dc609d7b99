// The small gemm schedule: one block of threads for one tile of C, the whole product in one launch.
//
// What counts here is latency, on the host (a kernel argument of a few words, nothing looked up)
// and on the device (every operand is fetched as it lies in memory, all of a short k at once).
// Law: over all blocks every tile of every matrix of the batch is visited exactly once.
// C++17, constexpr where the kernel shares it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/nvidia/gemm/tile_place.h"

namespace infini::nvidia {

// The order of sums. k is cut into pieces of small_line_bytes; inside each, group g of a block's
// warps or threads takes every k_groups-th part of it (16 elements of 16 bits, 16 bytes of f32 and
// f64), adds what it finds from piece to piece, and the groups' sums are added last, group 0 first.
// Products of 16 bits always have four groups, whatever their tile, strides or addresses, also in
// box_gemm.h: their bits depend on the operands' values and k alone. Those of f64 have eight. Only
// f32 has eight with small tiles and four with large ones, and SmallLaunch::tile decides, which
// follows from batch, m, n and the number of processors.
constexpr int k_groups_16_bit = 4;

// Every type has kernels for small tiles; all but f64 also for large ones.
constexpr SmallTile small_tile{16, 16}, large_tile_16_bit{32, 32}, large_tile_f32{16, 32};

constexpr int small_line_bytes = 128;  // of k at a time

// A or B. x is the direction that is not k: rows of A, columns of B. Steps are bytes per element.
// k_inside says along which of the two directions the operand lies in shared memory.
struct SmallOperand {
  int32_t x_step, k_step, batch_step;
  bool k_inside;
};

struct SmallGemm {
  int32_t m, n, k;
  gpu::FastDivisor tile_rows, tile_cols;  // of one matrix, in tiles
  SmallOperand a, b;
  int32_t c_row_step, c_col_step, c_batch_step;
  bool c_is_f32;  // else C has A's type
};
static_assert(sizeof(SmallGemm) <= 128, "the driver copies arguments with every launch");

// What a kernel is launched with.
struct SmallLaunch {
  SmallGemm gemm;
  SmallTile tile;
  uint32_t blocks;
  int pieces;               // of k, small_line_bytes each
  bool swapped;             // a and b have changed places: C is computed transposed
  uint32_t a_bits, b_bits;  // see unit_of()
};

// Nothing when byte offsets do not fit into 31 bits. `processors` are to be kept busy.
std::optional<SmallLaunch> make_small_gemm(const GemmPlan& plan, int processors);

// Whether that is at least as fast as cuBLASLt, as measured on an H200.
bool small_gemm_pays(const GemmPlan& plan, int processors);

std::string to_string(const SmallLaunch& launch);

// What the bits depend on. Law: k is divided and added in an order that follows from it alone; how A
// and B lie decides only how they are fetched.
std::string arithmetic_of(const SmallLaunch& launch, infiniDtype_t dtype);

}  // namespace infini::nvidia
