// Gemm kernels for the compiler's baseline (SSE2, NEON, or plain code), and the choice of a table.
#include <cstdint>

#include "backends/cpu/gemm/simd/kernels.h"
#include "base/float_formats.h"

namespace infini::cpu {
namespace {

struct Native : NoMasks {
  static constexpr int vector_bytes = 16, tile_rows = 4, tile_vectors = 2, narrow_rows = 4,
                       wide_vectors = 0, wide_rows = 0, dot_rows = 4, wide_piece_rows = 0,
                       sweep_rows = 4;
  typedef float Floats __attribute__((vector_size(16)));
  typedef uint16_t Halves __attribute__((vector_size(8)));
  static Floats f32_from_f16(Halves half) {
    Floats v;
    for (int i = 0; i < 4; ++i) v[i] = infini::f32_from_f16(half[i]);
    return v;
  }
  static float f32_from_one_f16(uint16_t bits) { return infini::f32_from_f16(bits); }
  static Halves f16_from_f32(Floats v) {
    Halves half;
    for (int i = 0; i < 4; ++i) half[i] = infini::f16_from_f32(v[i]);
    return half;
  }
  // The value counts as changed: what made it is not fused with what uses it.
  template <class Vector>
  static void keep(Vector& v) {
    asm("" : "+m"(v));
  }
  template <class Vector>
  static Vector held(Vector v) {
    return v;
  }
  // Whatever the compiler makes of the vectors' a·b + c (fused or not), the tails do the same.
  template <class T>
  static T fma(T a, T b, T c) {
    return a * b + c;
  }
};

}  // namespace
}  // namespace infini::cpu

#include "backends/cpu/gemm/simd/tiles.h"

namespace infini::cpu {

const GemmTables& gemm_tables_portable() {
  static constexpr GemmTables tables{make_kernels<float>(), make_kernels<double>()};
  return tables;
}

const GemmTables& gemm_tables(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return gemm_tables_avx512();
  if (isa == Isa::avx2) return gemm_tables_avx2();
#endif
  (void)isa;
  return gemm_tables_portable();
}

}  // namespace infini::cpu
