// Gemm kernels for AVX-512: 32 registers hold a tile of 9×3 vectors, three of B and one of A.
#include <immintrin.h>

#include <cstdint>

namespace infini::cpu {
namespace {

struct Native {
  static constexpr int vector_bytes = 64, tile_rows = 9, tile_vectors = 3, narrow_rows = 14,
                       wide_vectors = 4, wide_rows = 6, dot_rows = 6, wide_piece_rows = 3,
                       sweep_rows = 8;
  static constexpr bool masks = true;
  typedef __mmask16 Mask;
  static Mask first(int count) {
    return count >= 16 ? 0xffff : static_cast<Mask>((1u << count) - 1);
  }
  static __m512 load(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
  static __m512d load(const double* p, Mask mask) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), p);
  }
  static void store(float* p, Mask mask, __m512 v) { _mm512_mask_storeu_ps(p, mask, v); }
  static void store(double* p, Mask mask, __m512d v) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(mask), v);
  }
  static __m256i load_half(const void* p, Mask mask) { return _mm256_maskz_loadu_epi16(mask, p); }
  template <class Half>
  static void store_half(void* p, Mask mask, Half v) {
    _mm256_mask_storeu_epi16(p, mask, reinterpret_cast<__m256i>(v));
  }
  template <class Half>
  static __m512 f32_from_f16(Half half) {  // zero-masked: g++ 12 warns about the plain form
    return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(half));
  }
  static float f32_from_one_f16(uint16_t bits) { return _cvtsh_ss(bits); }
  template <class Vector>
  static auto f16_from_f32(Vector v) {
    typedef uint16_t Half __attribute__((vector_size(32)));
    return reinterpret_cast<Half>(_mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT));
  }
  // The value counts as changed: what made it is not fused with what uses it.
  template <class Vector>
  static void keep(Vector& v) {
    asm("" : "+v"(v));
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

const GemmTables& gemm_tables_avx512() {
  static constexpr GemmTables tables{make_kernels<float>(), make_kernels<double>()};
  return tables;
}

}  // namespace infini::cpu
