// Shuffle programs by 16-byte shuffles, which are AVX2's.
#if defined(__x86_64__)

#include <immintrin.h>

#include "backends/cpu/rearrange/shuffle/vectors.h"

namespace infini::cpu {
namespace {

struct Avx2 {
  using type = __m128i;
  static type load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static void store(char* p, type v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
  static type pick(type window, type indices) { return _mm_shuffle_epi8(window, indices); }
  static type both(type a, type b) { return _mm_or_si128(a, b); }
};

}  // namespace

ShuffleKernels shuffle_kernels_avx2(int depth) { return shuffle_kernels_of<Avx2>(depth); }

}  // namespace infini::cpu

#endif
