// AMX: packing into tiles, the product of strips with panels, and rounding its sums.
//
// Law of the tile registers: an operand is loaded as late as possible and its register zeroed as soon as
// it was used. A core has few tile registers beyond the eight that have names, and keeps half of them
// while its other hyperthread works; one that is zeroed is free again for the results that are on their
// way. So measured beside busy neighbours: 42 cycles for a product of tiles and its load, 69 without the
// zeroing; alone it is 16 in either case.
#include "backends/cpu/gemm/amx/kernels.h"

#include <immintrin.h>

namespace infini::cpu::amx {
namespace {

struct alignas(64) TileConfig {  // palette 1: eight tiles of at most 16 rows of 64 bytes
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

__m512i load_masked(const char* p, int64_t count) {
  if (count >= 32) return _mm512_loadu_si512(p);
  return _mm512_maskz_loadu_epi16((1u << count) - 1, p);
}

// 32 elements along a line, zeros behind the first `count`.
__m512i load_line(const char* src, int64_t step, int64_t count) {
  if (step == 2) return load_masked(src, count);
  alignas(64) uint16_t line[group] = {};
  for (int64_t i = 0; i < group && i < count; ++i)
    line[i] = *reinterpret_cast<const uint16_t*>(src + i * step);
  return _mm512_load_si512(line);
}

// What packing makes of 32 elements: vectors of bf16, one for each plane.
struct Whole {
  static constexpr int planes = 1;
  void split(__m512i x, __m512i (&plane)[1]) { plane[0] = x; }
  bool saw_only_finite() const { return true; }
};

// f16 has 11 significant bits, bf16 has 8, and all of f16's exponents: the sum of two is exact.
struct Halves {
  static constexpr int planes = 2;
  bool only_finite;
  __mmask32 infinite = 0;

  void split(__m512i x, __m512i (&plane)[2]) {
    const __m512i exponent = _mm512_set1_epi16(0x7c00);
    const __mmask32 beyond = _mm512_cmpeq_epi16_mask(_mm512_and_si512(x, exponent), exponent);
    infinite |= beyond;
    const __m512i left = _mm512_castps_si512(_mm512_cvtph_ps(_mm512_castsi512_si256(x)));
    const __m512i right = _mm512_castps_si512(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(x, 1)));
    const __m512i high = upper_words(left, right);
    plane[0] = only_finite ? _mm512_maskz_mov_epi16(~beyond, high) : high;
    plane[1] = _mm512_maskz_mov_epi16(~beyond, upper_words(rest(left), rest(right)));
  }
  bool saw_only_finite() const { return infinite == 0; }

 private:
  static __m512i upper_words(__m512i left, __m512i right) {
    return _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm512_cvtepi32_epi16(_mm512_srli_epi32(left, 16))),
        _mm512_cvtepi32_epi16(_mm512_srli_epi32(right, 16)), 1);
  }
  static __m512i rest(__m512i x) {
    const __m512i high = _mm512_and_si512(x, _mm512_set1_epi32(-65536));
    return _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(high)));
  }
};

// Two rows of 32 columns become one row of pairs in each of two neighbouring tiles.
void pair_rows(__m512i upper, __m512i lower, uint16_t* left, uint16_t* right) {
  const __m512i low = _mm512_unpacklo_epi16(upper, lower);  // columns 0…3, 8…11, 16…19, 24…27
  const __m512i high = _mm512_unpackhi_epi16(upper, lower);
  const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  _mm512_storeu_si512(left, _mm512_permutex2var_epi64(low, first, high));
  if (right != nullptr) _mm512_storeu_si512(right, _mm512_permutex2var_epi64(low, second, high));
}

// Rows that are asked for before they are packed: the processor itself follows a row too late.
constexpr int64_t rows_ahead = 4;

// One group of k across all columns of a B whose rows are contiguous; panels are `apart` elements
// apart. Rows are read from end to end, in the order in which they lie.
template <class Kind>
void pack_group_by_rows(Kind& kind, const Source& src, int64_t first, int64_t k, int64_t cols,
                        int64_t apart, const Packed& dst) {
  for (int64_t p = 0; p < side; ++p) {
    const char* row = src.first + (first + 2 * p) * src.row_step;
    uint16_t* place = dst.first + p * group;
    const bool has_upper = first + 2 * p < k, has_lower = first + 2 * p + 1 < k;
    for (int64_t left = cols; left > 0; left -= block, row += 2 * block, place += 2 * apart) {
      __m512i upper[Kind::planes], lower[Kind::planes];
      _mm_prefetch(row + rows_ahead * src.row_step, _MM_HINT_T0);
      _mm_prefetch(row + (rows_ahead + 1) * src.row_step, _MM_HINT_T0);
      kind.split(has_upper ? load_masked(row, left) : _mm512_setzero_si512(), upper);
      kind.split(has_lower ? load_masked(row + src.row_step, left) : _mm512_setzero_si512(), lower);
      for (int i = 0; i < Kind::planes; ++i)
        pair_rows(upper[i], lower[i], place + i * dst.plane,
                  left > side ? place + i * dst.plane + apart : nullptr);
    }
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
template <class Kind>
void pack_tile_by_columns(Kind& kind, const Source& src, int64_t first, int64_t k, int64_t col,
                          int64_t cols, const Packed& dst) {
  __m512i v[Kind::planes][16];
  const char* line = src.first + first * src.row_step + col * src.col_step;
#pragma GCC unroll 16
  for (int j = 0; j < 16; ++j, line += src.col_step) {
    __m512i plane[Kind::planes] = {};
    if (col + j < cols) kind.split(load_line(line, src.row_step, k - first), plane);
    if (col + j < cols && src.row_step == 2)
      _mm_prefetch(line + side * src.col_step, _MM_HINT_T1);  // of the next panel
    for (int i = 0; i < Kind::planes; ++i) v[i][j] = plane[i];
  }
  for (int i = 0; i < Kind::planes; ++i) {
    exchange_all<1>(v[i]);
    exchange_all<2>(v[i]);
    exchange_all<4>(v[i]);
    exchange_all<8>(v[i]);
#pragma GCC unroll 16
    for (int p = 0; p < 16; ++p)
      _mm512_storeu_si512(dst.first + i * dst.plane + p * group, v[i][p]);
  }
}

template <class Kind>
bool pack_strips(Kind kind, const Source& src, int64_t rows, int64_t k, const Packed& dst) {
  uint16_t* place = dst.first;
  for (int64_t strip = 0; strip < rows; strip += side)
    for (int64_t first = 0; first < k; first += group)
      for (int64_t row = strip; row < strip + side; ++row, place += group) {
        __m512i plane[Kind::planes] = {};
        if (row < rows)
          kind.split(load_line(src.first + row * src.row_step + first * src.col_step, src.col_step,
                               k - first),
                     plane);
        for (int i = 0; i < Kind::planes; ++i) _mm512_storeu_si512(place + i * dst.plane, plane[i]);
      }
  return kind.saw_only_finite();
}

template <class Kind>
bool pack_panels(Kind kind, const Source& src, int64_t k, int64_t cols, const Packed& dst) {
  const int64_t apart = panel_elements((k + group - 1) / group);
  for (int64_t first = 0; first < k && src.col_step == 2; first += group)
    pack_group_by_rows(kind, src, first, k, cols, apart,
                       {dst.first + first / group * tile_elements, dst.plane});
  for (int64_t col = 0; col < cols && src.col_step != 2; col += side)
    for (int64_t first = 0; first < k; first += group)
      pack_tile_by_columns(
          kind, src, first, k, col, cols,
          {dst.first + col / side * apart + first / group * tile_elements, dst.plane});
  return kind.saw_only_finite();
}

}  // namespace

bool pack_a(Parts parts, const Source& src, int64_t rows, int64_t k, const Packed& dst) {
  if (parts == Parts::whole) return pack_strips(Whole{}, src, rows, k, dst);
  return pack_strips(Halves{parts == Parts::finite_halves}, src, rows, k, dst);
}

bool pack_b(Parts parts, const Source& src, int64_t k, int64_t cols, const Packed& dst) {
  if (parts == Parts::whole) return pack_panels(Whole{}, src, k, cols, dst);
  return pack_panels(Halves{parts == Parts::finite_halves}, src, k, cols, dst);
}

void configure() {
  // In static memory: g++ believes that the instruction reads 8 bytes and drops stores to the rest.
  static constexpr TileConfig config;
  _tile_loadconfig(&config);
}

void release() { _tile_release(); }

namespace {

__m512i rounded_to_f16(__m512 left, __m512 right) {
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(left, nearest)),
                            _mm512_cvtps_ph(right, nearest), 1);
}

void round_rows(const Rounding& rounding, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const __m512 left = _mm512_loadu_ps(rounding.sums + row * block),
                 right = _mm512_loadu_ps(rounding.sums + row * block + side);
    _mm512_storeu_si512(rounding.c + row * rounding.row_step,
                        rounding.to_f16
                            ? rounded_to_f16(left, right)
                            : reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(right, left)));
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
  for (int64_t g = 0; g < call.groups;
       ++g, a += call.a.group_step, b += tile_elements, right += tile_elements) {
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

void add(float* sums, const float* more) {
  for (int64_t i = 0; i < block_elements; i += side)
    _mm512_storeu_ps(sums + i, _mm512_add_ps(_mm512_loadu_ps(sums + i), _mm512_loadu_ps(more + i)));
}

void multiply(const BlockCall& call) {
  if (call.two_strips)
    return call.two_panels ? multiply_tiles<true, true>(call) : multiply_tiles<true, false>(call);
  return call.two_panels ? multiply_tiles<false, true>(call) : multiply_tiles<false, false>(call);
}

}  // namespace infini::cpu::amx
