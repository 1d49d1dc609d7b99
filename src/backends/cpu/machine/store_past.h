// Vectors stored past the caches: for the kernels of one instruction set, each a file of its own.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {
namespace {

// Where the machine has such stores; p is aligned to the vector, to 64 bytes at most. The caller fences (streaming_fence).
template <class Vector>
void store_past(void* p, Vector v) {
  if constexpr (sizeof v == 128) {  // f64 beside f32 of one register
    typedef char Half __attribute__((vector_size(64)));
    Half halves[2];
    __builtin_memcpy(halves, &v, sizeof v);
    store_past(p, halves[0]);
    return store_past(static_cast<char*>(p) + 64, halves[1]);
  }
#if defined(__AVX512F__)
  if constexpr (sizeof v == 64)
    return _mm512_stream_si512(static_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#endif
#if defined(__AVX__)
  if constexpr (sizeof v == 32)
    return _mm256_stream_si256(static_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
#endif
#if defined(__x86_64__)
  if constexpr (sizeof v == 16)
    return _mm_stream_si128(static_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
#endif
  __builtin_memcpy(p, &v, sizeof v);
}

}  // namespace
}  // namespace infini::cpu
