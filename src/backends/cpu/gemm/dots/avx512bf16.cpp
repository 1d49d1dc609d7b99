// Dot products in pairs by AVX512-BF16. Entered only where the processor has it.
#include <immintrin.h>

#include <utility>

#include "backends/cpu/gemm/dots/kernels.h"

namespace infini::cpu::dots {
namespace {

constexpr int64_t lanes = 16, vector_bytes = 64, elements = 32;

template <int rows, int cols, class Load>
[[gnu::always_inline]] inline void add_products(__m512 (&sum)[rows][cols], const char* a,
                                                int64_t a_row, const Load& load) {
  __m512bh right[cols];
#pragma GCC unroll 8
  for (int j = 0; j < cols; ++j) right[j] = reinterpret_cast<__m512bh>(load(j));
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    const auto left = reinterpret_cast<__m512bh>(_mm512_loadu_si512(a + i * a_row));
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
  }
}

template <int rows, int cols>
void run(const Call& call) {
  __m512 sum[rows][cols];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j)
      sum[i][j] = call.is_first ? _mm512_setzero_ps()
                                : _mm512_loadu_ps(call.partial + (i * cols + j) * lanes);
  const char *a = call.a, *b = call.b, *ahead = call.ahead;
  const int64_t a_row = call.a_row, b_col = call.b_col;
  int64_t left = call.k;
  for (; left >= elements; left -= elements, a += vector_bytes, b += vector_bytes) {
    for (int i = 0; i < call.ahead_lines; ++i, ahead += vector_bytes)
      _mm_prefetch(ahead, _MM_HINT_T0);
    add_products<rows, cols>(sum, a, a_row,
                             [&](int j) { return _mm512_loadu_si512(b + j * b_col); });
  }
  if (left > 0) {
    const __mmask32 some = (__mmask32{1} << left) - 1;
    add_products<rows, cols>(sum, a, a_row,
                             [&](int j) { return _mm512_maskz_loadu_epi16(some, b + j * b_col); });
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j)
      _mm512_storeu_ps(call.partial + (i * cols + j) * lanes, sum[i][j]);
}

struct Table {
  void (*run[wide_cols][narrow_rows])(const Call&) = {};
};

template <int cols, int... row>
constexpr void fill(Table& table, std::integer_sequence<int, row...>) {
  ((table.run[cols - 1][row] = dots::run<row + 1, cols>), ...);
}

template <int... col>
constexpr Table make_table(std::integer_sequence<int, col...>) {
  Table table;
  (fill<col + 1>(table,
                 std::make_integer_sequence<int, (col < narrow_cols ? narrow_rows : wide_rows)>{}),
   ...);
  return table;
}
constexpr Table table = make_table(std::make_integer_sequence<int, wide_cols>{});

// Lanes whose number has the bit `half` are added to those without: x's stay where it is 0, y's where it is 1.
template <int half>
[[gnu::always_inline]] inline __m512 fold(__m512 x, __m512 y) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(half));
  const __m512i low = _mm512_mask_add_epi32(lane, upper, lane, _mm512_set1_epi32(16 - half));
  const __m512i high = _mm512_mask_add_epi32(_mm512_add_epi32(lane, _mm512_set1_epi32(half)), upper,
                                             lane, _mm512_set1_epi32(16));
  return _mm512_add_ps(_mm512_permutex2var_ps(x, low, y), _mm512_permutex2var_ps(x, high, y));
}

template <int half>
[[gnu::always_inline]] inline void fold_all(__m512 (&v)[sums_together]) {
#pragma GCC unroll 8
  for (int i = 0; i < half; ++i) v[i] = fold<half>(v[i], v[i + half]);
}

}  // namespace

void dot_products(int64_t rows, int64_t cols, const Call& call) {
  table.run[cols - 1][rows - 1](call);
}

void add_lanes(const float* partial, int64_t count, float* sums) {
  for (int64_t first = 0; first < count; first += sums_together) {
    __m512 v[sums_together];
#pragma GCC unroll 16
    for (int i = 0; i < sums_together; ++i) v[i] = _mm512_loadu_ps(partial + (first + i) * lanes);
    fold_all<8>(v);
    fold_all<4>(v);
    fold_all<2>(v);
    fold_all<1>(v);
    _mm512_storeu_ps(sums + first, v[0]);
  }
}

}  // namespace infini::cpu::dots
