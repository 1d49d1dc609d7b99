// The matrix unit of Intel processors (AMX): bf16 tiles with f32 sums. Everything that needs its
// instructions stands in gemm_amx_kernels.cpp.
//
// A is packed in strips of 16 rows, k in groups of 32: [strip][group][16 rows][32]. B is packed in
// panels of 16 columns with pairs of k beside each other: [panel][group][16 pairs][16 columns][2].
// Rows, columns and k beyond the matrix are zeros.
#pragma once

#include <cstdint>

namespace infini::cpu::amx {

constexpr int64_t side = 16, group = 32, tile_elements = side * group;

// Both pack cols or rows up to a multiple of 16 and k up to a multiple of 32; steps in bytes.
void pack_a(const char* src, int64_t row_step, int64_t col_step, int64_t rows, int64_t k,
            uint16_t* dst);
void pack_b(const char* src, int64_t row_step, int64_t col_step, int64_t k, int64_t cols,
            uint16_t* dst);

// Tile registers belong to a thread: configure before multiplying, release after.
void configure();
void release();

// sums[32, 32] (+)= two strips of A times two panels of B over `groups` of k; strips and panels are
// groups·tile_elements apart. With only one strip, sums has 16 rows.
void multiply(const uint16_t* a, const uint16_t* b, int64_t groups, bool two_strips, float* sums,
              int64_t sum_row, bool add);

}  // namespace infini::cpu::amx
