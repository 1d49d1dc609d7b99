// Vectors and gemm kernels written once over the compilers' vector extensions, compiled once per
// instruction set. Include it only from a file gemm_<isa>.cpp, which is compiled with that set's
// flags and defines `struct Native` (vector bytes, tile shape, f16 conversions) before it.
//
// Everything here has internal linkage and uses no inline function of the standard library: a copy
// that was compiled for a newer processor must never be the one the linker keeps for all.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/gemm_kernels.h"

namespace infini::cpu {
namespace {

template <class T>
struct Simd {
  static constexpr int lanes = Native::vector_bytes / static_cast<int>(sizeof(T));
  typedef T Vec __attribute__((vector_size(Native::vector_bytes)));
  // The same, where memory is aligned to elements only.
  typedef T Loose __attribute__((vector_size(Native::vector_bytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vec = typename Simd<T>::Vec;

template <class T>
Vec<T> load(const T* p) { return *reinterpret_cast<const typename Simd<T>::Loose*>(p); }
template <class T>
void store(T* p, Vec<T> v) { *reinterpret_cast<typename Simd<T>::Loose*>(p) = v; }
template <class T>
Vec<T> splat(T value) { return value - Vec<T>{}; }  // x - 0 is x, so that nothing is computed

// ---- elements of memory (S) and of arithmetic (T): wide<T>(p) loads lanes of T ----

constexpr int f32_lanes = Simd<float>::lanes;
typedef uint16_t Half __attribute__((vector_size(f32_lanes * 2)));
typedef uint16_t LooseHalf __attribute__((vector_size(f32_lanes * 2), aligned(2), may_alias));
typedef uint32_t Word __attribute__((vector_size(f32_lanes * 4)));

struct F16 { uint16_t bits; };
struct BF16 { uint16_t bits; };

inline Vec<float> wide(const float* p) { return load(p); }
inline Vec<double> wide(const double* p) { return load(p); }
inline Vec<float> wide(const BF16* p) {
  const Half half = *reinterpret_cast<const LooseHalf*>(p);
  return reinterpret_cast<Vec<float>>(__builtin_convertvector(half, Word) << 16);
}
inline Vec<float> wide(const F16* p) {
  return Native::f32_from_f16(*reinterpret_cast<const LooseHalf*>(p));
}
inline float one(const float* p) { return *p; }
inline double one(const double* p) { return *p; }
inline float one(const BF16* p) {
  const uint32_t word = uint32_t{p->bits} << 16;
  float value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}
inline float one(const F16* p) { return Native::f32_from_one_f16(p->bits); }

// Rounds to nearest even; NaN stays NaN.
inline void narrow(float* p, Vec<float> v) { store(p, v); }
inline void narrow(double* p, Vec<double> v) { store(p, v); }
inline void narrow(BF16* p, Vec<float> v) {
  const Word bits = reinterpret_cast<Word>(v);
  const Word rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  const Word result = (v == v) ? rounded : (bits | 0x400000u);
  *reinterpret_cast<LooseHalf*>(p) = __builtin_convertvector(result >> 16, Half);
}
inline void narrow(F16* p, Vec<float> v) { *reinterpret_cast<LooseHalf*>(p) = Native::f16_from_f32(v); }

// ---- the tile: rows×(vectors·lanes) of C from a strip of A and a panel of B ----

// Every element is one chain of fused multiply-adds in the order of k, whatever the tile's size, so
// that a result does not depend on how C was cut.
template <class T, bool packed, int rows, int vectors>
void tile(const TileCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes;
  const int64_t a_row = packed ? 1 : call.a_row, a_col = packed ? Native::tile_rows : call.a_col;
  Vec<T> sum[rows][vectors] = {};
  const T *a = call.a, *b = call.b;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)  // C is needed only at the end
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) __builtin_prefetch(call.c + i * call.c_row + j * lanes, 1);
  for (int64_t p = 0; p < call.k; ++p) {
    Vec<T> right[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) right[j] = load(b + j * lanes);
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) __builtin_prefetch(b + 8 * call.b_row + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vec<T> left = splat(a[i * a_row]);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] += left * right[j];
    }
    a += a_col;
    b += call.b_row;
  }
  const Vec<T> alpha = splat(call.alpha), beta = splat(call.beta);
  if (call.cols == vectors * lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) {
        T* c = call.c + i * call.c_row + j * lanes;
        store(c, call.beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * load(c));
      }
    return;
  }
  T edge[rows][vectors * lanes];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) store(&edge[i][j * lanes], sum[i][j]);
  for (int i = 0; i < rows; ++i) {
    T* c = call.c + i * call.c_row;
    for (int j = 0; j < call.cols; ++j)
      c[j] = call.beta == 0 ? call.alpha * edge[i][j] : call.alpha * edge[i][j] + call.beta * c[j];
  }
}

// ---- packing ----

template <int half, int lanes>
constexpr int low_index(int lane) { return lane & half ? lanes + lane - half : lane; }
template <int half, int lanes>
constexpr int high_index(int lane) { return lane & half ? lanes + lane : lane + half; }

// Exchanges the off-diagonal half×half blocks of each 2half×2half block.
template <class T, int half, int... lane>
void exchange(Vec<T> (&v)[sizeof...(lane)], std::integer_sequence<int, lane...>) {
  constexpr int lanes = sizeof...(lane);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if (i & half) continue;
    const Vec<T> x = v[i], y = v[i | half];
    v[i] = __builtin_shufflevector(x, y, low_index<half, lanes>(lane)...);
    v[i | half] = __builtin_shufflevector(x, y, high_index<half, lanes>(lane)...);
  }
}

template <class T>
void transpose(Vec<T> (&v)[Simd<T>::lanes]) {
  constexpr auto lanes = std::make_integer_sequence<int, Simd<T>::lanes>{};
  exchange<T, 1>(v, lanes);
  if constexpr (Simd<T>::lanes > 2) exchange<T, 2>(v, lanes);
  if constexpr (Simd<T>::lanes > 4) exchange<T, 4>(v, lanes);
  if constexpr (Simd<T>::lanes > 8) exchange<T, 8>(v, lanes);
}

// Up to lanes columns, each contiguous along k, become rows of a panel; missing ones become zeros.
template <class S, class T>
void pack_columns(const char* src, int64_t col_step, int64_t count, int64_t k, T* dst,
                  int64_t dst_row) {
  constexpr int lanes = Simd<T>::lanes;
  int64_t p = 0;
  for (; p + lanes <= k; p += lanes) {
    Vec<T> v[lanes];
#pragma GCC unroll 16
    for (int j = 0; j < lanes; ++j)
      v[j] = j < count ? wide(reinterpret_cast<const S*>(src + j * col_step) + p) : Vec<T>{};
    transpose<T>(v);
#pragma GCC unroll 16
    for (int j = 0; j < lanes; ++j) store(dst + (p + j) * dst_row, v[j]);
  }
  for (; p < k; ++p)
    for (int j = 0; j < count; ++j)
      dst[p * dst_row + j] = one(reinterpret_cast<const S*>(src + j * col_step) + p);
}

template <class S, class T>
void pack_any(const PackCall<T>& call) {
  for (int64_t i = 0; i < call.rows; ++i)
    for (int64_t j = 0; j < call.cols; ++j)
      call.dst[i * call.dst_row + j] =
          one(reinterpret_cast<const S*>(call.src + i * call.row_step + j * call.col_step));
}

// rows×cols of any steps become rows of T, dst_row elements apart.
template <class S, class T>
void pack(const PackCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes;
  if (call.col_step == static_cast<int64_t>(sizeof(S)) || call.cols == 1) {
    const int64_t done = call.cols / lanes * lanes;
    for (int64_t i = 0; i < call.rows; ++i) {
      const S* src = reinterpret_cast<const S*>(call.src + i * call.row_step);
      T* dst = call.dst + i * call.dst_row;
      for (int64_t j = 0; j < done; j += lanes) store(dst + j, wide(src + j));
      for (int64_t j = done; j < call.cols; ++j) dst[j] = one(src + j);
    }
    return;
  }
  if (call.row_step != static_cast<int64_t>(sizeof(S))) return pack_any<S, T>(call);
  // The last columns first: what they write behind a row is then overwritten by the row that follows.
  for (int64_t j = (call.cols - 1) / lanes * lanes; j >= 0; j -= lanes)
    pack_columns<S, T>(call.src + j * call.col_step, call.col_step,
                       call.cols - j < lanes ? call.cols - j : lanes, call.rows, call.dst + j,
                       call.dst_row);
}

// ---- finishing: sums become C ----

template <class S, class T>
void finish(const FinishCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes;
  const bool unit = call.col_step == static_cast<int64_t>(sizeof(S));
  const Vec<T> alpha = splat(call.alpha), beta = splat(call.beta);
  for (int64_t i = 0; i < call.rows; ++i) {
    const T* sum = call.sum + i * call.sum_row;
    char* c = call.c + i * call.row_step;
    int64_t j = 0;
    if (unit)
      for (; j + lanes <= call.cols; j += lanes) {
        S* place = reinterpret_cast<S*>(c) + j;
        const Vec<T> v = alpha * load(sum + j);
        narrow(place, call.beta == 0 ? v : v + beta * wide(place));
      }
    for (; j < call.cols; ++j) {
      S* place = reinterpret_cast<S*>(c + j * call.col_step);
      const T v = call.alpha * sum[j];
      T line[lanes] = {call.beta == 0 ? v : v + call.beta * one(place)};
      S rounded[lanes];
      narrow(rounded, load(line));
      *place = rounded[0];
    }
  }
}

// ---- skinny products: a few rows of A against a B that is read once, in its own type ----

// B's rows are contiguous: sums of a stretch of columns stay in the first cache while B streams by.
template <class S, class T, int rows>
void skinny_across(const SkinnyCall<T>& call) {
  constexpr int lanes = Simd<T>::lanes, deep = rows <= 2 ? 8 : 4;
  int64_t p = 0;
  const auto advance = [&](auto depth_tag) {
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
        const Vec<T> right = wide(b[u] + j);
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

// B's columns are contiguous: a few dot products at a time, lanes along k, summed in a fixed order.
template <class S, class T, int rows, int cols>
void dots(const SkinnyCall<T>& call, int64_t column) {
  constexpr int lanes = Simd<T>::lanes;
  const S* b[cols];
  Vec<T> sum[rows][cols] = {};
  for (int j = 0; j < cols; ++j)
    b[j] = reinterpret_cast<const S*>(call.b + (column + j) * call.b_step);
  int64_t p = 0;
  for (; p + lanes <= call.k; p += lanes) {
    Vec<T> right[cols];
#pragma GCC unroll 8
    for (int j = 0; j < cols; ++j) right[j] = wide(b[j] + p);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vec<T> left = load(call.a + i * call.a_row + p);
#pragma GCC unroll 8
      for (int j = 0; j < cols; ++j) sum[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) {
      T total = 0;
      for (int lane = 0; lane < lanes; ++lane) total += sum[i][j][lane];
      for (int64_t q = p; q < call.k; ++q) total += call.a[i * call.a_row + q] * one(b[j] + q);
      call.sum[i * call.sum_row + column + j] = total;
    }
}

template <class S, class T, int rows>
void skinny_along(const SkinnyCall<T>& call) {
  constexpr int cols = 4;
  int64_t j = 0;
  for (; j + cols <= call.cols; j += cols) dots<S, T, rows, cols>(call, j);
  for (; j < call.cols; ++j) dots<S, T, rows, 1>(call, j);
}

// ---- the table ----

template <class T, int vectors, int... row>
constexpr void fill_tiles(GemmKernels<T>& table, std::integer_sequence<int, row...>) {
  ((table.tile[0][vectors - 1][row] = tile<T, false, row + 1, vectors>), ...);
  ((table.tile[1][vectors - 1][row] = tile<T, true, row + 1, vectors>), ...);
}

template <class T, class S>
constexpr void fill_skinny(SkinnySet<T>& set) {
  set.across[0] = skinny_across<S, T, 1>;
  set.across[1] = skinny_across<S, T, 2>;
  set.across[2] = skinny_across<S, T, 3>;
  set.across[3] = skinny_across<S, T, 4>;
  set.along[0] = skinny_along<S, T, 1>;
  set.along[1] = skinny_along<S, T, 2>;
  set.along[2] = skinny_along<S, T, 3>;
  set.along[3] = skinny_along<S, T, 4>;
}

template <class T>
constexpr GemmKernels<T> make_kernels() {
  GemmKernels<T> table;
  table.lanes = Simd<T>::lanes;
  table.tile_rows = Native::tile_rows;
  table.tile_vectors = Native::tile_vectors;
  constexpr auto rows = std::make_integer_sequence<int, Native::tile_rows>{};
  fill_tiles<T, 1>(table, rows);
  fill_tiles<T, 2>(table, rows);
  if constexpr (Native::tile_vectors > 2) fill_tiles<T, 3>(table, rows);
  table.pack[0] = pack<T, T>;
  table.finish[0] = finish<T, T>;
  fill_skinny<T, T>(table.skinny[0]);
  if constexpr (sizeof(T) == 4) {
    table.pack[1] = pack<F16, T>;
    table.pack[2] = pack<BF16, T>;
    table.finish[1] = finish<F16, T>;
    table.finish[2] = finish<BF16, T>;
    fill_skinny<T, F16>(table.skinny[1]);
    fill_skinny<T, BF16>(table.skinny[2]);
  }
  return table;
}

}  // namespace
}  // namespace infini::cpu
