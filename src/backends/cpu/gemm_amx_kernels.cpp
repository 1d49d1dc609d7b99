// AMX: packing into tiles, the product of strips with panels, and rounding its sums.
//
// Law of the tile registers: an operand is loaded as late as possible and its register zeroed as soon as
// it was used. A core has few tile registers beyond the eight that have names, and keeps half of them
// while its other hyperthread works; one that is zeroed is free again for the results that are on their
// way. So measured beside busy neighbours: 42 cycles for a product of tiles and its load, 69 without the
// zeroing; alone it is 16 in either case.
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
  const __m512i low = _mm512_unpacklo_epi16(upper, lower);  // columns 0…3, 8…11, 16…19, 24…27
  const __m512i high = _mm512_unpackhi_epi16(upper, lower);
  const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  _mm512_storeu_si512(left, _mm512_permutex2var_epi64(low, first, high));
  if (right != nullptr) _mm512_storeu_si512(right, _mm512_permutex2var_epi64(low, second, high));
}

// One group of k across all columns of a B whose rows are contiguous; panels are `apart` elements
// apart. Rows are read from end to end, in the order in which they lie.
void pack_group_by_rows(const char* src, int64_t row_step, int64_t k, int64_t cols, int64_t apart,
                        uint16_t* dst) {
  for (int64_t p = 0; p < side; ++p, dst += group) {
    const char* upper = src + 2 * p * row_step;
    uint16_t* place = dst;
    int64_t left = cols;
    for (; left >= block && 2 * p + 1 < k; left -= block, upper += 2 * block, place += 2 * apart)
      pair_rows(_mm512_loadu_si512(upper), _mm512_loadu_si512(upper + row_step), place, place + apart);
    for (; left > 0; left -= block, upper += 2 * block, place += 2 * apart)
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
  const int64_t apart = panel_elements((k + group - 1) / group);
  for (int64_t first = 0; first < k && col_step == 2; first += group)
    pack_group_by_rows(src + first * row_step, row_step, k - first, cols, apart,
                       dst + first / group * tile_elements);
  for (int64_t panel = 0; panel < cols && col_step != 2; panel += side, dst += apart)
    for (int64_t first = 0; first < k; first += group)
      pack_tile_by_columns(src + first * row_step + panel * col_step, row_step, col_step, k - first,
                           cols - panel, dst + first / group * tile_elements);
}

void configure() {
  // In static memory: g++ believes that the instruction reads 8 bytes and drops stores to the rest.
  static constexpr TileConfig config;
  _tile_loadconfig(&config);
}

void release() { _tile_release(); }

namespace {

void round_rows(const Rounding& rounding, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const float* sums = rounding.sums + row * block;
    _mm512_storeu_si512(
        rounding.c + row * rounding.row_step,
        reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(sums + side), _mm512_loadu_ps(sums))));
  }
}

constexpr int64_t row_bytes = block * sizeof(float);

// What a group of tiles does beside: its share of the 32 rows.
void run_beside(const BlockCall& call, int64_t first, int64_t last) {
  if (call.rounding.sums != nullptr) round_rows(call.rounding, first, last);
  if (call.written != nullptr)
    for (int64_t row = first; row < last; ++row)
      __builtin_prefetch(call.written + row * call.written_step, 1);
}

template <bool two_strips, bool two_panels>
void load_sums(const float* sums) {
  _tile_loadd(0, sums, row_bytes);
  if (two_panels) _tile_loadd(1, sums + side, row_bytes);
  if (two_strips) _tile_loadd(2, sums + side * block, row_bytes);
  if (two_strips && two_panels) _tile_loadd(3, sums + side * block + side, row_bytes);
}

template <bool two_strips, bool two_panels>
void store_sums(float* sums) {
  _tile_stored(0, sums, row_bytes);
  _tile_zero(0);
  if (two_panels) _tile_stored(1, sums + side, row_bytes);
  _tile_zero(1);
  if (two_strips) _tile_stored(2, sums + side * block, row_bytes);
  _tile_zero(2);
  if (two_strips && two_panels) _tile_stored(3, sums + side * block + side, row_bytes);
  _tile_zero(3);
}

// Registers 0 to 3 are the sums and zeros between the calls, 4 and 5 A's tiles, 6 and 7 B's.
template <bool two_strips, bool two_panels>
void multiply_tiles(const BlockCall& call) {
  if (call.add) load_sums<two_strips, two_panels>(call.sums);
  const char* a = call.a.first;
  const uint16_t *b = call.b, *right = b + panel_elements(call.groups);
  const int64_t share = (block + call.groups - 1) / call.groups;
  int64_t row = 0;
  for (int64_t g = 0; g < call.groups; ++g, a += call.a.group_step, b += tile_elements, right += tile_elements) {
    _tile_loadd(4, a, call.a.row_step);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    if (two_panels) _tile_loadd(7, right, 64);
    if (two_panels) _tile_dpbf16ps(1, 4, 7);
    _tile_zero(4);
    if (two_strips) _tile_loadd(5, a + call.a.strip_step, call.a.row_step);
    if (two_strips) _tile_dpbf16ps(2, 5, 6);
    _tile_zero(6);
    if (two_strips && two_panels) _tile_dpbf16ps(3, 5, 7);
    _tile_zero(5);
    _tile_zero(7);
    if (row < block) run_beside(call, row, row + share < block ? row + share : block);
    row += share;
  }
  store_sums<two_strips, two_panels>(call.sums);
}

}  // namespace

void round(const Rounding& rounding) { round_rows(rounding, 0, block); }

void multiply(const BlockCall& call) {
  if (call.two_strips) return call.two_panels ? multiply_tiles<true, true>(call) : multiply_tiles<true, false>(call);
  return call.two_panels ? multiply_tiles<false, true>(call) : multiply_tiles<false, false>(call);
}

}  // namespace infini::cpu::amx
