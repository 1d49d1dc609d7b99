// AMX: packing into tiles, and the product of two strips with two panels.
#include "backends/cpu/gemm_amx_kernels.h"

#include <immintrin.h>

namespace infini::cpu::amx {
namespace {

struct alignas(64) TileConfig {  // palette 1: eight tiles of at most 16 rows of 64 bytes
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

__m512i load_masked(const char* p, int64_t count) {
  const __mmask32 mask = count >= 32 ? 0xffffffffu : (1u << count) - 1;
  return _mm512_maskz_loadu_epi16(mask, p);
}

uint16_t element(const char* p) { return *reinterpret_cast<const uint16_t*>(p); }

// One row (or column) of 32 elements along k.
void pack_line(const char* src, int64_t step, int64_t k, uint16_t* dst) {
  if (step == 2) {
    _mm512_storeu_si512(dst, load_masked(src, k));
    return;
  }
  for (int64_t i = 0; i < group; ++i) dst[i] = i < k ? element(src + i * step) : 0;
}

// Two rows of B become one row of pairs.
__m512i pair_rows(const char* upper, const char* lower, int64_t cols) {
  const __mmask16 mask = cols >= 16 ? 0xffff : static_cast<__mmask16>((1u << cols) - 1);
  const __m512i first = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, upper));
  if (lower == nullptr) return first;
  const __m512i second = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, lower));
  return _mm512_or_si512(first, _mm512_slli_epi32(second, 16));
}

// A tile of B whose rows are contiguous.
void pack_tile_by_rows(const char* src, int64_t row_step, int64_t k, int64_t cols, uint16_t* dst) {
  for (int64_t p = 0; p < side; ++p) {
    const char* upper = src + 2 * p * row_step;
    const __m512i pairs = 2 * p >= k ? _mm512_setzero_si512()
                                     : pair_rows(upper, 2 * p + 1 < k ? upper + row_step : nullptr, cols);
    _mm512_storeu_si512(dst + p * group, pairs);
  }
}

// Any other: lines along k, then 16×16 pairs transposed by gathering.
void pack_tile_by_columns(const char* src, int64_t row_step, int64_t col_step, int64_t k,
                          int64_t cols, uint16_t* dst) {
  alignas(64) uint16_t lines[side][group];
  for (int64_t j = 0; j < side; ++j) {
    if (j < cols) pack_line(src + j * col_step, row_step, k, lines[j]);
    else _mm512_store_si512(lines[j], _mm512_setzero_si512());
  }
  const __m512i places = _mm512_mullo_epi32(
      _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32(16));
  for (int64_t p = 0; p < side; ++p)
    _mm512_storeu_si512(dst + p * group,
                        _mm512_i32gather_epi32(places, reinterpret_cast<const int*>(lines) + p, 4));
}

}  // namespace

void pack_a(const char* src, int64_t row_step, int64_t col_step, int64_t rows, int64_t k,
            uint16_t* dst) {
  for (int64_t strip = 0; strip < rows; strip += side)
    for (int64_t first = 0; first < k; first += group)
      for (int64_t i = 0; i < side; ++i, dst += group) {
        if (strip + i < rows)
          pack_line(src + (strip + i) * row_step + first * col_step, col_step, k - first, dst);
        else
          _mm512_storeu_si512(dst, _mm512_setzero_si512());
      }
}

void pack_b(const char* src, int64_t row_step, int64_t col_step, int64_t k, int64_t cols,
            uint16_t* dst) {
  for (int64_t panel = 0; panel < cols; panel += side)
    for (int64_t first = 0; first < k; first += group, dst += tile_elements) {
      const char* tile = src + first * row_step + panel * col_step;
      if (col_step == 2) pack_tile_by_rows(tile, row_step, k - first, cols - panel, dst);
      else pack_tile_by_columns(tile, row_step, col_step, k - first, cols - panel, dst);
    }
}

void configure() {
  // In static memory: g++ believes that the instruction reads 8 bytes and drops stores to the rest.
  static constexpr TileConfig config;
  _tile_loadconfig(&config);
}

void release() { _tile_release(); }

void multiply(const uint16_t* a, const uint16_t* b, int64_t groups, bool two_strips, float* sums,
              int64_t sum_row, bool add) {
  const int64_t row_bytes = sum_row * 4, apart = groups * tile_elements;
  float *below = sums + side * sum_row;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (add) {
    _tile_loadd(0, sums, row_bytes);
    _tile_loadd(1, sums + side, row_bytes);
    if (two_strips) {
      _tile_loadd(2, below, row_bytes);
      _tile_loadd(3, below + side, row_bytes);
    }
  }
  for (int64_t g = 0; g < groups; ++g, a += tile_elements, b += tile_elements) {
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + apart, 64);
    _tile_loadd(4, a, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if (two_strips) {
      _tile_loadd(5, a + apart, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, row_bytes);
  _tile_stored(1, sums + side, row_bytes);
  if (two_strips) {
    _tile_stored(2, below, row_bytes);
    _tile_stored(3, below + side, row_bytes);
  }
}

}  // namespace infini::cpu::amx
