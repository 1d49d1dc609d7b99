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

// Two rows of 32 columns become one row of pairs in each of two neighbouring tiles.
void pair_rows(__m512i upper, __m512i lower, uint16_t* left, uint16_t* right) {
  // Words 0, 32, 1, 33, … of the two together; the second half starts at 16, 48.
  const __m512i ascending = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i first = _mm512_or_si512(
      ascending, _mm512_slli_epi32(_mm512_add_epi32(ascending, _mm512_set1_epi32(32)), 16));
  const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
  _mm512_storeu_si512(left, _mm512_permutex2var_epi16(upper, first, lower));
  if (right != nullptr) _mm512_storeu_si512(right, _mm512_permutex2var_epi16(upper, second, lower));
}

// One group of k across all columns of a B whose rows are contiguous; panels are `apart` elements
// apart. Rows are read from end to end, in the order in which they lie.
void pack_group_by_rows(const char* src, int64_t row_step, int64_t k, int64_t cols, int64_t apart,
                        uint16_t* dst) {
  for (int64_t p = 0; p < side; ++p, dst += group)
    for (int64_t col = 0; col < cols; col += 2 * side) {
      const char* upper = src + 2 * p * row_step + col * 2;
      const int64_t left = cols - col;
      uint16_t* place = dst + col / side * apart;
      _mm_prefetch(upper + group * row_step, _MM_HINT_T1);  // of the next group
      _mm_prefetch(upper + (group + 1) * row_step, _MM_HINT_T1);
      pair_rows(2 * p < k ? load_masked(upper, left) : _mm512_setzero_si512(),
                2 * p + 1 < k ? load_masked(upper + row_step, left) : _mm512_setzero_si512(), place,
                left > side ? place + apart : nullptr);
    }
}

// Exchanges the off-diagonal halves of 2·half dwords between two rows.
template <int half>
void exchange(__m512i& x, __m512i& y) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(half));
  const __m512i low = _mm512_mask_add_epi32(lane, upper, lane, _mm512_set1_epi32(16 - half));
  const __m512i high = _mm512_mask_add_epi32(_mm512_add_epi32(lane, _mm512_set1_epi32(half)), upper,
                                             lane, _mm512_set1_epi32(16));
  const __m512i first = _mm512_permutex2var_epi32(x, low, y);
  y = _mm512_permutex2var_epi32(x, high, y);
  x = first;
}

template <int half>
void exchange_all(__m512i (&v)[16]) {
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    if ((i & half) == 0) exchange<half>(v[i], v[i | half]);
}

// Any other: lines along k, then 16×16 pairs transposed.
void pack_tile_by_columns(const char* src, int64_t row_step, int64_t col_step, int64_t k,
                          int64_t cols, uint16_t* dst) {
  alignas(64) uint16_t line[group];
  __m512i v[16];
#pragma GCC unroll 16
  for (int j = 0; j < 16; ++j) {
    v[j] = _mm512_setzero_si512();
    if (j >= cols) continue;
    if (row_step == 2) {
      v[j] = load_masked(src + j * col_step, k);
      _mm_prefetch(src + (side + j) * col_step, _MM_HINT_T1);  // of the next panel
    } else {
      pack_line(src + j * col_step, row_step, k, line);
      v[j] = _mm512_load_si512(line);
    }
  }
  exchange_all<1>(v);
  exchange_all<2>(v);
  exchange_all<4>(v);
  exchange_all<8>(v);
#pragma GCC unroll 16
  for (int p = 0; p < 16; ++p) _mm512_storeu_si512(dst + p * group, v[p]);
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
  const int64_t apart = (k + group - 1) / group * tile_elements;  // from panel to panel
  for (int64_t first = 0; first < k && col_step == 2; first += group)
    pack_group_by_rows(src + first * row_step, row_step, k - first, cols, apart,
                       dst + first / group * tile_elements);
  for (int64_t panel = 0; panel < cols && col_step != 2; panel += side)
    for (int64_t first = 0; first < k; first += group, dst += tile_elements)
      pack_tile_by_columns(src + first * row_step + panel * col_step, row_step, col_step, k - first,
                           cols - panel, dst);
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
  float* below = sums + side * sum_row;
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
