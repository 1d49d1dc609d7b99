// Arithmetic without anything that it could wait for.
#include "backends/cpu/gemm/limits.h"

#include "backends/cpu/gemm/amx/kernels.h"
#include "backends/cpu/gemm/simd/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {
namespace {

template <class T>
double run_tiles(const GemmKernels<T>& kernels) {
  constexpr int64_t k = 128, tiles = 500;
  constexpr int widest = 16 * most_tile_vectors;
  alignas(64) static thread_local T a[k * most_tile_rows], b[k * widest],
      c[most_tile_rows * widest];
  const int cols = kernels.tile_vectors * kernels.lanes;
  const TileCall<T> call{.k = k,
                         .a = a,
                         .a_row = 0,
                         .a_col = 0,
                         .b = b,
                         .b_row = cols,
                         .ahead = reinterpret_cast<const char*>(b),
                         .ahead_step = 0,
                         .c = c,
                         .c_row = cols,
                         .cols = cols,
                         .alpha = 1,
                         .beta = 0};
  for (int64_t i = 0; i < tiles; ++i)
    kernels.tile[1][true][kernels.tile_vectors - 1][kernels.tile_rows - 1](call);
  return static_cast<double>(k * tiles * kernels.tile_rows * cols);
}

}  // namespace

double run_f32_tiles() { return run_tiles(gemm_tables(isa()).f32); }
double run_f64_tiles() { return run_tiles(gemm_tables(isa()).f64); }

#if defined(__x86_64__)

// Products of pairs (AVX512-BF16) between registers: 32 multiply-adds an instruction, as many sums as hide its latency.
__attribute__((target("avx512f,avx512bf16"))) double run_pairs() {
  constexpr int64_t rounds = 20000, products = 32;
  constexpr int count = 16;
  __m512 sums[count] = {};
  for (auto& sum : sums) asm volatile("" : "+v"(sum));  // not known to be the same
  __m512bh pairs = {};
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (auto& sum : sums) sum = _mm512_dpbf16_ps(sum, pairs, pairs);
    asm volatile("" : "+v"(pairs));  // nor this
  }
  for (auto& sum : sums) asm volatile("" ::"v"(sum));
  return static_cast<double>(rounds * count * products);
}

double run_matrix_unit() {
  using namespace amx;
  constexpr int64_t groups = 8, products = 500;
  alignas(64) static thread_local uint16_t a[2 * groups * tile_elements],
      b[2 * panel_elements(groups)];
  alignas(64) static thread_local float sums[block_elements];
  constexpr int64_t tile_bytes = 2 * tile_elements;
  const Strips strips{reinterpret_cast<const char*>(a), 2 * group, tile_bytes, groups * tile_bytes};
  configure();
  for (int64_t i = 0; i < products; ++i) multiply({strips, b, groups, true, true, false, sums});
  release();
  return static_cast<double>(4 * side * side * groups * group * products);
}

#endif

}  // namespace infini::cpu
