// Conversions for AVX2 with F16C and FMA.
#include <immintrin.h>

#include <cstdint>

namespace infini::cpu {
namespace {

struct Native {
  static constexpr int vector_bytes = 32;
  template <class Halves>
  static __m256 f32_from_f16(Halves v) {
    return _mm256_cvtph_ps(reinterpret_cast<__m128i>(v));
  }
  template <class Floats>
  static __m128i f16_from_f32(Floats v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
  }
};

}  // namespace
}  // namespace infini::cpu

#include "backends/cpu/convert/lanes_of_isa.h"

namespace infini::cpu {
const ConvertLanes& convert_lanes_avx2() { return table; }
}  // namespace infini::cpu
