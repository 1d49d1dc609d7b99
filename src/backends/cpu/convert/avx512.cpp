// Conversions for AVX-512.
#include <immintrin.h>

#include <cstdint>

namespace infini::cpu {
namespace {

struct Native {
  static constexpr int vector_bytes = 64;
  template <class Halves>
  static __m512 f32_from_f16(Halves v) {  // zero-masked: g++ 12 warns about the plain form
    return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(v));
  }
  template <class Floats>
  static __m256i f16_from_f32(Floats v) {
    return _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT);
  }
};

}  // namespace
}  // namespace infini::cpu

#include "backends/cpu/convert/lanes_of_isa.h"

namespace infini::cpu {
const ConvertLanes& convert_lanes_avx512() { return table; }
}  // namespace infini::cpu
