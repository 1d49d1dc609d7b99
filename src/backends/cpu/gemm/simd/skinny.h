// Kernels of skinny products: a few rows of A against a B that is read once, in its own type. Included
// by gemm_simd.h alone, and so compiled once per instruction set.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/gemm/simd/vectors.h"

namespace infini::cpu {
namespace {

// B's rows are contiguous: sums of a stretch of columns stay in the first cache while B streams by. The
// rows that follow are asked for, since the processor starts anew at each of them: 3 % at M = 1.
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
    int64_t j = 0;
    for (; j + lanes <= call.cols; j += lanes) {
      Vec<T> sum[rows];
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) sum[i] = load(call.sum + i * call.sum_row + j);
#pragma GCC unroll 8
      for (int u = 0; u < depth; ++u) {
        __builtin_prefetch(reinterpret_cast<const char*>(b[u] + j) + call.ahead);
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

// B's columns are contiguous: a few dot products at a time, lanes along k, summed in a fixed order.
// A piece of k leaves the sums of its lanes in call.partial for the next one.
template <class S, class T, int rows, int cols, bool piece>
void dots(const SkinnyCall<T>& call, int64_t column) {
  constexpr int lanes = Simd<T>::lanes;
  const S* b[cols];
  Vec<T> sum[rows * cols] = {};
  for (int j = 0; j < cols; ++j)
    b[j] = reinterpret_cast<const S*>(call.b + (column + j) * call.b_step);
  T* const partial = call.partial + column * rows * lanes;
  if (piece && !call.is_first)
    for (int i = 0; i < rows * cols; ++i) sum[i] = load(partial + i * lanes);
  int64_t p = 0;
  for (; p + lanes <= call.k; p += lanes) {
    Vec<T> right[cols];
    if constexpr (piece) {
      for (int j = 0; j < call.ahead_cols; ++j)
        __builtin_prefetch(reinterpret_cast<const char*>(b[0] + p) + call.ahead + j * call.b_step);
    } else if (call.ahead != 0) {
#pragma GCC unroll 8
      for (int j = 0; j < cols; ++j)
        __builtin_prefetch(reinterpret_cast<const char*>(b[j] + p) + call.ahead);
    }
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j)
      right[j] = rows > 1 ? Native::held(wide(b[j] + p)) : wide(b[j] + p);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vec<T> left = load(call.a + i * call.a_row + p);
#pragma GCC unroll 8
      for (int j = 0; j < cols; ++j) sum[i * cols + j] += left * right[j];
    }
  }
  if (piece && !call.is_last) {
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

// One row reads eight columns at once, which memory answers faster than four: 6 %.
template <class S, class T, int rows, bool piece>
void skinny_along(const SkinnyCall<T>& call) {
  constexpr int cols = dot_cols(rows);
  int64_t j = 0;
  for (; j + cols <= call.cols; j += cols) dots<S, T, rows, cols, piece>(call, j);
  if (cols > 4 && j + 4 <= call.cols) dots<S, T, rows, 4, piece>(call, j), j += 4;
  const int64_t rest = call.cols - j;
  if (rest == 3) dots<S, T, rows, 3, piece>(call, j);
  if (rest == 2) dots<S, T, rows, 2, piece>(call, j);
  if (rest == 1) dots<S, T, rows, 1, piece>(call, j);
}

template <class T, class S, int... row>
constexpr void fill_across(SkinnySet<T>& set, std::integer_sequence<int, row...>) {
  ((set.across[row] = skinny_across<S, T, row + 1>), ...);
}

template <class T, class S, int... row>
constexpr void fill_along(SkinnySet<T>& set, std::integer_sequence<int, row...>) {
  ((set.along[row] = skinny_along<S, T, row + 1, false>), ...);
  ((set.piece[row] = skinny_along<S, T, row + 1, true>), ...);
}

template <class T, class S>
constexpr void fill_skinny(SkinnySet<T>& set) {
  fill_across<T, S>(set, std::make_integer_sequence<int, most_skinny_rows>{});
  fill_along<T, S>(set, std::make_integer_sequence<int, Native::dot_rows>{});
}

}  // namespace
}  // namespace infini::cpu
