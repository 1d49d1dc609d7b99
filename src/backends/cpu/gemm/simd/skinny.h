// Kernels of skinny products: a few rows of A against a B that is read once, in its own type. Included
// by gemm_simd.h alone, and so compiled once per instruction set.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/gemm/simd/vectors.h"

namespace infini::cpu {
namespace {

// Where the lines that are fetched beside `count` rows (or columns) of so many vectors lie: row by row, as they lie in
// memory, so many bytes for each vector that is read of all of them.
template <class S, int lanes, int count>
struct Ahead {
  static constexpr int bytes = count * lanes * static_cast<int>(sizeof(S));
  Ahead(const char* first, int64_t step, int64_t vectors)
      : row_(first), step_(step), each_((vectors + count - 1) / count), left_(each_) {
    at_ = row_;
  }
  [[gnu::always_inline]] void fetch() {
#pragma GCC unroll 8
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(at_ + i);
    at_ += bytes;
    if (--left_ == 0) left_ = each_, at_ = row_ += step_;
  }

 private:
  const char *row_, *at_;
  int64_t step_, each_, left_;
};

// B's rows are contiguous: sums of a stretch of columns come and go while B streams by, a few rows of it at a time.
template <class S, class T, int rows>
void skinny_across(const SkinnyCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes, deep = rows <= 2 ? 8 : 4;
  int64_t p = 0;
  const auto advance = [&](auto depth_tag) __attribute__((always_inline)) {
    constexpr int depth = decltype(depth_tag)::value;
    const S* b[depth];
    Vec<T> left[rows][depth];
#pragma GCC unroll 8
    for (int u = 0; u < depth; ++u) {
      b[u] = reinterpret_cast<const S*>(call.b + (p + u) * call.b_step);
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) left[i][u] = splat(call.a[i * call.a_row + p + u]);
    }
    Ahead<S, lanes, depth> ahead(call.b + (p + depth) * call.b_step, call.b_step,
                                 call.cols / lanes);
    int64_t j = 0;
    for (; j + lanes <= call.cols; j += lanes) {
      Vec<T> sum[rows];
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) sum[i] = load(call.sum + i * call.sum_row + j);
      if (call.fetches) ahead.fetch();
#pragma GCC unroll 8
      for (int u = 0; u < depth; ++u) {
        const Vec<T> right = rows > 1 ? Native::held(wide(b[u] + j)) : wide(b[u] + j);
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) sum[i] += left[i][u] * right;
      }
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) store(call.sum + i * call.sum_row + j, sum[i]);
    }
    for (; j < call.cols; ++j)
      for (int u = 0; u < depth; ++u)
        for (int i = 0; i < rows; ++i) {
          T& sum = call.sum[i * call.sum_row + j];
          sum = Native::fma(left[i][u][0], one(b[u] + j), sum);
        }
    p += depth;
  };
  while (p + deep <= call.k) advance(std::integral_constant<int, deep>{});
  while (p < call.k) advance(std::integral_constant<int, 1>{});
}

// Lanes whose number has the bit `half` are added to those without; x's sums stay where it is 0, y's where it is 1.
template <class T, int half, int... lane>
[[gnu::always_inline]] inline Vec<T> fold(Vec<T> x, Vec<T> y, std::integer_sequence<int, lane...>) {
  constexpr int lanes = sizeof...(lane);
  return __builtin_shufflevector(x, y, low_index<half, lanes>(lane)...) +
         __builtin_shufflevector(x, y, high_index<half, lanes>(lane)...);
}

template <class T, int half, int count>
[[gnu::always_inline]] inline void fold_all(Vec<T>* v) {
  constexpr auto lanes = std::make_integer_sequence<int, Simd<T>::lanes>{};
  constexpr int left = count > 1 ? count / 2 : 1;
#pragma GCC unroll 16
  for (int i = 0; i < left; ++i) v[i] = fold<T, half>(v[i], v[count > 1 ? i + left : i], lanes);
  if constexpr (half > 1) fold_all<T, half / 2, left>(v);
}

// total[i] = the lanes of sums[i], halves added to halves: in one order, however many sums there are.
template <class T, int count>
[[gnu::always_inline]] inline void add_lanes(const Vec<T> (&sums)[count], T (&total)[count]) {
  constexpr int lanes = Simd<T>::lanes;
  constexpr int most = count < lanes ? count : lanes;
  constexpr int together = most <= 1 ? 1 : most <= 2 ? 2 : most <= 4 ? 4 : most <= 8 ? 8 : 16;
#pragma GCC unroll 16
  for (int first = 0; first < count; first += together) {
    Vec<T> v[together] = {};
#pragma GCC unroll 16
    for (int i = 0; i < together; ++i)
      if (first + i < count) v[i] = sums[first + i];
    fold_all<T, lanes / 2, together>(v);
#pragma GCC unroll 16
    for (int i = 0; i < together; ++i)
      if (first + i < count) total[first + i] = v[0][i * (lanes / together)];
  }
}

// A vector of k: what there is less of, rows or columns, waits in registers for the other.
template <class S, class T, int rows, int cols>
[[gnu::always_inline]] inline void add_dots(Vec<T> (&sum)[rows * cols], const T* a, int64_t a_row,
                                            const S* const (&b)[cols], int64_t p) {
  if constexpr (rows < cols) {
    Vec<T> left[rows];
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) left[i] = load(a + i * a_row);
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j) {
      const Vec<T> right = rows > 1 ? Native::held(wide(b[j] + p)) : wide(b[j] + p);
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) sum[i * cols + j] += left[i] * right;
    }
    return;
  }
  Vec<T> right[cols];
#pragma GCC unroll 8
  for (int j = 0; j < cols; ++j) right[j] = Native::held(wide(b[j] + p));
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    const Vec<T> left = load(a + i * a_row);
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j) sum[i * cols + j] += left * right[j];
  }
}

// B's columns are contiguous: a few dot products at a time, lanes along k, summed in a fixed order.
// A piece of k leaves the sums of its lanes in call.partial for the next one.
template <class S, class T, int rows, int cols, bool piece>
void dots(const SkinnyCall<T>& call, int64_t column) {
  constexpr int lanes = Simd<T>::lanes;
  const S* b[cols];
  Vec<T> sum[rows * cols] = {};
#pragma GCC unroll 8
  for (int j = 0; j < cols; ++j)
    b[j] = reinterpret_cast<const S*>(call.b + (column + j) * call.b_step);
  T* const partial = call.partial + column * rows * lanes;
  if (piece && !call.is_first)
#pragma GCC unroll 32
    for (int i = 0; i < rows * cols; ++i) sum[i] = load(partial + i * lanes);
  Ahead<S, lanes, cols> next(call.b + (column + cols) * call.b_step, call.b_step, call.k / lanes);
  [[maybe_unused]] const char* ahead = call.ahead;
  int64_t p = 0;
  for (; p + lanes <= call.k; p += lanes) {
    if constexpr (piece) {
      for (int i = 0; i < call.ahead_lines; ++i, ahead += 64) __builtin_prefetch(ahead);
    } else if (call.fetches) {
      next.fetch();
    }
    add_dots<S, T, rows, cols>(sum, call.a + p, call.a_row, b, p);
  }
  if (piece && !call.is_last) {
#pragma GCC unroll 32
    for (int i = 0; i < rows * cols; ++i) store(partial + i * lanes, sum[i]);
    return;
  }
  if (const int rest = static_cast<int>(call.k - p); rest > 0) {  // zeros beyond them
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j) {
      const Vec<T> right = wide_part<T>(b[j] + p, rest);
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i)
        sum[i * cols + j] += wide_part<T>(call.a + i * call.a_row + p, rest) * right;
    }
  }
  T total[rows * cols];
  add_lanes<T>(sum, total);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) call.sum[i * call.sum_row + column + j] = total[i * cols + j];
}

// A piece of k of one group of columns.
template <class S, class T, int rows, int most>
void skinny_piece(const SkinnyCall<T>& call) {
  const auto run = [&]<int... cols>(std::integer_sequence<int, cols...>) {
    ((call.cols == cols + 1 ? dots<S, T, rows, cols + 1, true>(call, 0) : void()), ...);
  };
  run(std::make_integer_sequence<int, most>{});
}

// One row reads eight columns at once, which memory answers faster than four: 6 %.
template <class S, class T, int rows>
void skinny_along(const SkinnyCall<T>& call) {
  constexpr int cols = dot_cols(rows);
  int64_t j = 0;
  for (; j + cols <= call.cols; j += cols) dots<S, T, rows, cols, false>(call, j);
  if (cols > 4 && j + 4 <= call.cols) dots<S, T, rows, 4, false>(call, j), j += 4;
  const int64_t rest = call.cols - j;
  if (rest == 3) dots<S, T, rows, 3, false>(call, j);
  if (rest == 2) dots<S, T, rows, 2, false>(call, j);
  if (rest == 1) dots<S, T, rows, 1, false>(call, j);
}

template <class T, class S, int... row>
constexpr void fill_across(SkinnySet<T>& set, std::integer_sequence<int, row...>) {
  ((set.across[row] = skinny_across<S, T, row + 1>), ...);
}

template <class T, class S, int... row>
constexpr void fill_along(SkinnySet<T>& set, std::integer_sequence<int, row...>) {
  ((set.along[row] = skinny_along<S, T, row + 1>), ...);
  ((set.piece[row] = skinny_piece<S, T, row + 1, piece_cols>), ...);
}

template <class T, class S, int... row>
constexpr void fill_wide_pieces(SkinnySet<T>& set, std::integer_sequence<int, row...>) {
  ((set.wide_piece[row] = skinny_piece<S, T, row + 1, wide_piece_cols>), ...);
}

template <class T, class S>
constexpr void fill_skinny(SkinnySet<T>& set) {
  fill_across<T, S>(set, std::make_integer_sequence<int, most_skinny_rows>{});
  fill_along<T, S>(set, std::make_integer_sequence<int, Native::dot_rows>{});
  fill_wide_pieces<T, S>(set, std::make_integer_sequence<int, Native::wide_piece_rows>{});
}

}  // namespace
}  // namespace infini::cpu
