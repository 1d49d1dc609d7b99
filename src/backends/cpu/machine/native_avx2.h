// What AVX2 with F16C has for vectors of halves: for the kernels of one instruction set, each a file of its own.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace infini::cpu {
namespace {

struct Native {
  static constexpr int vector_bytes = 32;
  template <class Half>
  static __m256 f32_from_f16(Half half) {
    return _mm256_cvtph_ps(reinterpret_cast<__m128i>(half));
  }
  template <class Vector>
  static __m128i f16_from_f32(Vector v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
  }
  template <class Half>
  static __m256i words_from_halves(Half half) {
    return _mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(half));
  }
  // Of words that are halves.
  template <class Words>
  static __m128i halves_from_words(Words words) {
    const auto all = reinterpret_cast<__m256i>(words);
    return _mm_packus_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  }
};

}  // namespace
}  // namespace infini::cpu
