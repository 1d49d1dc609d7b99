// Kernels of sweeps: all rows of A against a few rows of a B that is read once, in its own type; the sums of all rows and
// columns wait in the second cache. Included by gemm_simd.h alone, and so compiled once per instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/gemm/simd/vectors.h"

namespace infini::cpu {
namespace {

constexpr int sweep_vectors = 2;

// Where the fetching of the rows that come later goes on: row by row, as they lie in memory.
struct SweepAhead {
  const char *at, *end;  // of a row
  int64_t gap, step;     // to the next one
  [[gnu::always_inline]] void skip(int64_t bytes) {
    at += bytes;
    if (at >= end) at += gap, end += step;
  }
};

// A group of rows against sweep_vectors vectors of each row of B. The first group leaves what it read, widened, for the later
// ones: rows that are a power of two apart would push each other out of the first cache. Each asks for its share of the rows
// that come later, so that memory is busy all the time.
template <class S, class T, bool first_group, bool whole>
[[gnu::always_inline]] inline void sweep_group(const SweepCall<T>& call, int64_t group,
                                               const char* b, SweepAhead& ahead, T* sum, T* read,
                                               int cols) {
  constexpr int lanes = Simd<T>::lanes, rows = Native::sweep_rows;
  const T* a = call.a + group * call.a_group;
  Vec<T> total[rows][sweep_vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < sweep_vectors; ++v)
      total[i][v] = call.is_first ? Vec<T>{} : load(sum + (i * sweep_vectors + v) * lanes);
  SweepAhead next = ahead;
  const auto advance = [&](int64_t steps, auto fetches) __attribute__((always_inline)) {
    for (int64_t p = 0; p < steps;
         ++p, a += rows, b += call.b_step, read += sweep_vectors * lanes) {
      Vec<T> right[sweep_vectors];
#pragma GCC unroll 2
      for (int v = 0; v < sweep_vectors; ++v) {
        const S* const place = reinterpret_cast<const S*>(b) + v * lanes;
        if constexpr (decltype(fetches)::value)
          if (v == 0 || lanes * sizeof(S) == 64)
            __builtin_prefetch(next.at + v * lanes * sizeof(S));
        if constexpr (!first_group)
          right[v] = load(read + v * lanes);
        else if constexpr (whole)
          right[v] = Native::held(wide(place));
        else if (cols > v * lanes)
          right[v] = wide_part<T>(place, cols - v * lanes < lanes ? cols - v * lanes : lanes);
        else
          right[v] = Vec<T>{};
        if constexpr (first_group) store(read + v * lanes, right[v]);
      }
      if constexpr (decltype(fetches)::value) next.skip(sweep_vectors * lanes * sizeof(S));
#pragma GCC unroll 8
      for (int i = 0; i < rows; ++i) {
        const Vec<T> left = splat(a[i]);
#pragma GCC unroll 2
        for (int v = 0; v < sweep_vectors; ++v) total[i][v] += left * right[v];
      }
    }
  };
  const int64_t share = call.k * (group + 1) / call.groups - call.k * group / call.groups;
  advance(share, std::true_type{});
  ahead = next;
  advance(call.k - share, std::false_type{});
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < sweep_vectors; ++v)
      store(sum + (i * sweep_vectors + v) * lanes, total[i][v]);
}

template <class S, class T, bool whole>
void sweep_columns(const SweepCall<T>& call, const char* b, SweepAhead& ahead, T* sum, int cols) {
  constexpr int size = Native::sweep_rows * sweep_vectors * Simd<T>::lanes;
  alignas(64) T read[most_sweep_depth * sweep_vectors * Simd<T>::lanes];
  sweep_group<S, T, true, whole>(call, 0, b, ahead, sum, read, cols);
  for (int64_t group = 1; group < call.groups; ++group)
    sweep_group<S, T, false, whole>(call, group, b, ahead, sum + group * size, read, cols);
}

template <class S, class T>
void sweep(const SweepCall<T>& call) {
  constexpr int width = sweep_vectors * Simd<T>::lanes;
  const char* b = call.b;
  T* sum = call.sum;
  constexpr int64_t bytes = width * sizeof(S);
  const int64_t row = (call.cols + width - 1) / width * bytes;  // in whole pieces
  SweepAhead ahead{call.ahead, call.ahead + row, call.b_step - row, call.b_step};
  for (int64_t left = call.cols; left > 0; left -= width, b += bytes) {
    if (left >= width)
      sweep_columns<S, T, true>(call, b, ahead, sum, width);
    else
      sweep_columns<S, T, false>(call, b, ahead, sum, static_cast<int>(left));
    sum += call.groups * Native::sweep_rows * width;
  }
}

}  // namespace
}  // namespace infini::cpu
