// Dot products of bf16 in pairs: what the kernels take.
#pragma once

#include <cstdint>

namespace infini::cpu::dots {

// Columns of B that so many rows of A meet at once: their lanes' sums are registers.
constexpr int wide_cols = 8, wide_rows = 3, narrow_cols = 4, narrow_rows = 6;
constexpr int sums_together = 16;  // whose lanes are added at once

// A piece of k of rows×cols elements of C: lanes' sums, [rows][cols] vectors.
struct Call {
  int64_t k;
  const char* a;  // rows, zeros behind them up to a whole vector
  int64_t a_row;
  const char* b;  // columns
  int64_t b_col;
  float* partial;
  bool is_first;
  const char*
      ahead;  // where in B the fetching goes on, and with how many lines for each vector of k
  int ahead_lines;
};
void dot_products(int64_t rows, int64_t cols, const Call& call);

// sums[i] = the lanes of partial[i], halves added to halves; count in whole sums_together.
void add_lanes(const float* partial, int64_t count, float* sums);

}  // namespace infini::cpu::dots
