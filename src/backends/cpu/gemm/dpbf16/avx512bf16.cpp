// Packing into pairs, and tiles of sums, by AVX512-BF16. Entered only where the processor has it.
#include <immintrin.h>

#include <utility>

#include "backends/cpu/gemm/dpbf16/kernels.h"

namespace infini::cpu::dpbf16 {
namespace {

constexpr int64_t pair_bytes = 4, vector_bytes = 64;
// What is packed is asked for before: rows of a B whose rows are contiguous, else bytes along its columns.
constexpr int64_t rows_ahead = 8, bytes_ahead = 128;

__mmask16 first(int64_t count) {
  return count >= lanes ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1);
}

// ---- packing ----

// Sixteen columns of two rows become a vector of pairs.
__m512i paired(const char* upper, const char* lower, __mmask16 some) {
  const __m256i x = _mm256_maskz_loadu_epi16(some, upper),
                y = lower ? _mm256_maskz_loadu_epi16(some, lower) : _mm256_setzero_si256();
  const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(x), y, 1);
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, both);
}

// Rows are contiguous: two of them from end to end, across all panels.
void pack_rows(const PackCall& call) {
  for (int64_t k = 0; k < call.k; k += 2) {
    const char* const upper = call.src + k * call.row_step;
    const char* const lower = k + 1 < call.k ? upper + call.row_step : nullptr;
    const char* const ahead = upper + rows_ahead * call.row_step;
    char* panel = call.dst + k / 2 * call.width * pair_bytes;
    for (int64_t col = 0; col < call.cols; col += call.width, panel += call.panel_bytes)
      for (int64_t v = 0; v < call.width; v += lanes) {
        const int64_t at = 2 * (col + v), left = call.cols - col - v;
        _mm_prefetch(ahead + at, _MM_HINT_T0);
        _mm_prefetch(ahead + call.row_step + at, _MM_HINT_T0);
        const __m512i pairs = left <= 0
                                  ? _mm512_setzero_si512()
                                  : paired(upper + at, lower ? lower + at : nullptr, first(left));
        _mm512_storeu_si512(panel + v * pair_bytes, pairs);
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
  const __m512i merged = _mm512_permutex2var_epi32(x, low, y);
  y = _mm512_permutex2var_epi32(x, high, y);
  x = merged;
}

template <int half>
void exchange_all(__m512i (&v)[16]) {
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i)
    if ((i & half) == 0) exchange<half>(v[i], v[i | half]);
}

// 32 elements along k, zeros behind the first `count`.
__m512i load_line(const char* src, int64_t step, int64_t count) {
  const auto some = count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
  if (step == 2) return _mm512_maskz_loadu_epi16(some, src);
  alignas(64) uint16_t line[32] = {};
  for (int64_t i = 0; i < 32 && i < count; ++i)
    line[i] = *reinterpret_cast<const uint16_t*>(src + i * step);
  return _mm512_load_si512(line);
}

// Sixteen columns, 32 elements of each: 16×16 pairs are transposed.
void pack_square(const PackCall& call, int64_t k, int64_t col, char* dst) {
  __m512i v[16];
  const char* line = call.src + k * call.row_step + col * call.col_step;
#pragma GCC unroll 16
  for (int j = 0; j < 16; ++j, line += call.col_step) {
    v[j] = _mm512_setzero_si512();
    if (col + j >= call.cols) continue;
    v[j] = load_line(line, call.row_step, call.k - k);
    _mm_prefetch(line + (call.row_step == 2 ? bytes_ahead : 0), _MM_HINT_T0);
  }
  exchange_all<1>(v);
  exchange_all<2>(v);
  exchange_all<4>(v);
  exchange_all<8>(v);
#pragma GCC unroll 16
  for (int p = 0; p < 16; ++p)
    if (k + 2 * p < call.k) _mm512_storeu_si512(dst + p * call.width * pair_bytes, v[p]);
}

void pack_columns(const PackCall& call) {
  char* panel = call.dst;
  for (int64_t col = 0; col < call.cols; col += call.width, panel += call.panel_bytes)
    for (int64_t v = 0; v < call.width; v += lanes)
      for (int64_t k = 0; k < call.k; k += 32)
        pack_square(call, k, col + v, panel + (k / 2 * call.width + v) * pair_bytes);
}

// ---- tiles ----

struct [[gnu::packed, gnu::may_alias]] Pair {  // aligned to nothing
  uint32_t bits;
};

// A[i] of a pair (or of one without its second), for all lanes: a[] are places in every third row, the others one or two
// steps away.
template <bool whole>
[[gnu::always_inline]] inline __m512bh splat(const char* const* a, int i, int64_t a_row) {
  const char* const place = a[i / 3] + i % 3 * a_row;
  const uint32_t bits = whole ? reinterpret_cast<const Pair*>(place)->bits
                              : *reinterpret_cast<const uint16_t*>(place);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(bits)));
}

template <bool whole, int rows, int vectors>
[[gnu::always_inline]] inline void add_products(__m512 (&sum)[rows][vectors], const char* const* a,
                                                int64_t a_row, const char* b) {
  __m512bh right[vectors];
#pragma GCC unroll 4
  for (int j = 0; j < vectors; ++j)
    right[j] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + j * vector_bytes));
#pragma GCC unroll 24
  for (int i = 0; i < rows; ++i) {
    const __m512bh left = splat<whole>(a, i, a_row);
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
  }
}

template <int rows, int vectors>
[[gnu::always_inline]] inline void write_sums(const TileCall& call,
                                              const __m512 (&sum)[rows][vectors]) {
#pragma GCC unroll 24
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      _mm512_storeu_ps(call.sums + i * call.sum_row + j * lanes, sum[i][j]);
}

template <int rows, int vectors>
[[gnu::always_inline]] inline void write_f32(const TileCall& call,
                                             const __m512 (&sum)[rows][vectors]) {
  const __mmask16 last = first(call.cols - (vectors - 1) * lanes);
#pragma GCC unroll 24
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      _mm512_mask_storeu_ps(call.c + i * call.c_row + j * vector_bytes,
                            j < vectors - 1 ? __mmask16{0xffff} : last, sum[i][j]);
}

template <int rows, int vectors>
[[gnu::always_inline]] inline void write_bf16(const TileCall& call,
                                              const __m512 (&sum)[rows][vectors]) {
  const __mmask16 last = first(call.cols - (vectors - 1) * lanes);
#pragma GCC unroll 24
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      _mm256_mask_storeu_epi16(call.c + i * call.c_row + j * vector_bytes / 2,
                               j < vectors - 1 ? __mmask16{0xffff} : last,
                               reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sum[i][j])));
}

template <int rows, int vectors>
void run_tile(const TileCall& call) {
  __m512 sum[rows][vectors];
#pragma GCC unroll 24
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      sum[i][j] = call.from_sums ? _mm512_loadu_ps(call.sums + i * call.sum_row + j * lanes)
                                 : _mm512_setzero_ps();
  const char* a[(rows + 2) / 3];
#pragma GCC unroll 8
  for (int i = 0; i < rows; i += 3) a[i / 3] = call.a + i * call.a_row;
  const char* b = call.b;
  const int64_t a_row = call.a_row, a_pair = call.a_pair, b_row = call.b_row;
  for (int64_t pair = call.k / 2; pair > 0; --pair, b += b_row) {
    add_products<true, rows, vectors>(sum, a, a_row, b);
#pragma GCC unroll 8
    for (int i = 0; i < rows; i += 3) a[i / 3] += a_pair;
  }
  if (call.k % 2 != 0) add_products<false, rows, vectors>(sum, a, a_row, b);
  if (call.end == End::sums) return write_sums<rows, vectors>(call, sum);
  if (call.end == End::f32) return write_f32<rows, vectors>(call, sum);
  write_bf16<rows, vectors>(call, sum);
}

struct Table {
  void (*tile[most_vectors][tallest_tile])(const TileCall&) = {};
};

template <int vectors, int... row>
constexpr void fill(Table& table, std::integer_sequence<int, row...>) {
  ((table.tile[vectors - 1][row] = run_tile<row + 1, vectors>), ...);
}

constexpr Table make_table() {
  Table table;
  fill<1>(table, std::make_integer_sequence<int, most_rows(1)>{});
  fill<2>(table, std::make_integer_sequence<int, most_rows(2)>{});
  fill<3>(table, std::make_integer_sequence<int, most_rows(3)>{});
  fill<4>(table, std::make_integer_sequence<int, most_rows(4)>{});
  return table;
}
constexpr Table table = make_table();

}  // namespace

void pack(const PackCall& call) { call.col_step == 2 ? pack_rows(call) : pack_columns(call); }

void tile(int64_t rows, int64_t vectors, const TileCall& call) {
  table.tile[vectors - 1][rows - 1](call);
}

}  // namespace infini::cpu::dpbf16
