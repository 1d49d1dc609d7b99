// The instruction vdpbf16ps (AVX512-BF16): pairs of bf16 multiplied into f32 sums. What needs it stands
// in avx512bf16.cpp.
//
// Of each pair of k the odd one is multiplied and added first, then the even one, each fused and
// rounded to nearest even; operands and sums that are denormal count as zeros, and so do results.
#pragma once

#include <cstdint>

namespace infini::cpu::dpbf16 {

constexpr int lanes = 16, most_vectors = 4, tallest_tile = 24;
// Rows of a tile so many vectors wide: the sums, a row of B and an element of A are 32 registers.
constexpr int most_rows(int64_t vectors) {
  return vectors == 1 ? tallest_tile : vectors == 2 ? 14 : vectors == 3 ? 9 : 6;
}

// k×cols of bf16 become panels of `width` columns, a multiple of lanes: [ceil(k/2)][width][2] each and
// panel_bytes apart, with zeros beyond k and cols.
struct PackCall {
  const char* src;
  int64_t row_step, col_step;  // bytes
  int64_t k, cols, width;
  char* dst;
  int64_t panel_bytes;
};
void pack(const PackCall& call);

enum class End {
  sums,  // f32, whole vectors
  f32,   // C's elements
  bf16   // rounded once
};

// rows × cols sums of one panel, which start from zeros or from what is in `sums`.
struct TileCall {
  int64_t k;
  const char* a;          // bf16, the two of a pair side by side; beyond an odd k nothing is read
  int64_t a_row, a_pair;  // bytes
  const char* b;
  int64_t b_row;  // bytes from pair to pair
  float* sums;
  int64_t sum_row;  // elements
  bool from_sums;
  End end;
  char* c;
  int64_t c_row;  // bytes
  int cols;       // at most vectors·lanes
};
void tile(int64_t rows, int64_t vectors, const TileCall& call);

}  // namespace infini::cpu::dpbf16
