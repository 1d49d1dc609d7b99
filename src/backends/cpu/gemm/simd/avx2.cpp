// Gemm kernels for AVX2 with FMA and F16C: 16 registers hold a tile of 6×2 vectors.
#include <immintrin.h>

#include <cstdint>

#include "backends/cpu/gemm/simd/kernels.h"

namespace infini::cpu {
namespace {

struct Native : NoMasks {
  static constexpr int vector_bytes = 32, tile_rows = 6, tile_vectors = 2, narrow_rows = 12,
                       wide_vectors = 0, wide_rows = 0, dot_rows = 4, wide_piece_rows = 0,
                       sweep_rows = 6;
  template <class Half>
  static __m256 f32_from_f16(Half half) {
    return _mm256_cvtph_ps(reinterpret_cast<__m128i>(half));
  }
  static float f32_from_one_f16(uint16_t bits) { return _cvtsh_ss(bits); }
  template <class Vector>
  static auto f16_from_f32(Vector v) {
    typedef uint16_t Half __attribute__((vector_size(16)));
    return reinterpret_cast<Half>(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  // The value counts as changed: what made it is not fused with what uses it.
  template <class Vector>
  static void keep(Vector& v) {
    asm("" : "+x"(v));
  }
  // The value is loaded here, not anew by each instruction that uses it.
  template <class Vector>
  static Vector held(Vector v) {
    return keep(v), v;
  }
  static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
};

}  // namespace
}  // namespace infini::cpu

#include "backends/cpu/gemm/simd/tiles.h"

namespace infini::cpu {

const GemmTables& gemm_tables_avx2() {
  static constexpr GemmTables tables{make_kernels<float>(), make_kernels<double>()};
  return tables;
}

}  // namespace infini::cpu
