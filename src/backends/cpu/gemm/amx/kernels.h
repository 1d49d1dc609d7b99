// The matrix unit of Intel processors (AMX): bf16 tiles with f32 sums. Everything that needs its
// instructions stands in gemm_amx_kernels.cpp.
//
// A lies in strips of 16 rows, k in groups of 32: 16 rows of 64 bytes are a tile, in the matrix itself
// or packed as [strip][group][16 rows][32]. B is packed in panels of 16 columns with pairs of k beside
// each other: [panel][group][16 pairs][16 columns][2]. Rows, columns and k beyond the matrix are zeros.
#pragma once

#include <cstdint>

namespace infini::cpu::amx {

constexpr int64_t side = 16, group = 32, tile_elements = side * group;
constexpr int64_t block = 2 * side, block_elements = block * block;

// From panel to panel of B. A line more than the tiles: packing writes to all panels in turn, and at
// powers of two they would share a few lines of the first cache.
constexpr int64_t panel_elements(int64_t groups) { return groups * tile_elements + group; }

// bf16 is packed as it is. f16 is packed as two bf16 planes whose sum it is, the high bits and then the
// low ones; infinities and NaN are in the high plane alone, or, with finite_halves, zeros there.
enum class Parts { whole, halves, finite_halves };

struct Source {  // steps in bytes
  const char* first;
  int64_t row_step, col_step;
};
struct Packed {  // planes are `plane` elements apart
  uint16_t* first;
  int64_t plane;
};

// Both pack cols or rows up to a multiple of 16 and k up to a multiple of 32. False: there are halves
// that are not finite.
bool pack_a(Parts parts, const Source& src, int64_t rows, int64_t k, const Packed& dst);
bool pack_b(Parts parts, const Source& src, int64_t k, int64_t cols, const Packed& dst);

// Tile registers belong to a thread: configure before multiplying, release after.
void configure();
void release();

// 32×32 sums that become bf16 or f16 as they are, in rows of 64 bytes.
struct Rounding {
  const float* sums = nullptr;  // null: there are none
  char* c = nullptr;
  int64_t row_step = 0;
  bool to_f16 = false;
};
void round(const Rounding& rounding);

// sums += more, both 32×32.
void add(float* sums, const float* more);

// Where A's tiles lie: bytes from row to row, group to group and strip to strip.
struct Strips {
  const char* first;
  int64_t row_step, group_step, strip_step;
};

// sums[32][32] (+)= one or two strips of A times one or two panels of B. What is not computed keeps its
// value.
struct BlockCall {
  Strips a;
  const uint16_t* b;
  int64_t groups;
  bool two_strips, two_panels, add;
  float* sums;
  // Meanwhile, between the tiles: another block is rounded, and the 32 places where lines will be written
  // come nearer; null: nothing does.
  Rounding rounding{};
  const char* written = nullptr;
  int64_t written_step = 0;
};
void multiply(const BlockCall& call);

}  // namespace infini::cpu::amx
