// What AVX-512 has for vectors of halves: for the kernels of one instruction set, each a file of its own.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace infini::cpu {
namespace {

struct Native {
  static constexpr int vector_bytes = 64;
  template <class Half>
  static __m512 f32_from_f16(Half half) {  // zero-masked: g++ 12 warns about the plain form
    return _mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(half));
  }
  template <class Vector>
  static __m256i f16_from_f32(Vector v) {
    return _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT);
  }
  // Between words and halves of the same numbers: g++ 12 makes eight instructions of one.
  template <class Half>
  static __m512i words_from_halves(Half half) {
    return _mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(half));
  }
  template <class Words>
  static __m256i halves_from_words(Words words) {
    return _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(words));
  }
};

}  // namespace
}  // namespace infini::cpu
