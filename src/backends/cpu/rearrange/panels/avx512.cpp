// Panel kernels for AVX-512: a line is one register of four lanes, edges are masks.
#if defined(__x86_64__)

#include <immintrin.h>

#include "backends/cpu/rearrange/panels/skewed.h"

namespace infini::cpu {
namespace {

__mmask64 low_bytes(int count) { return _bzhi_u64(~0ull, static_cast<unsigned>(count)); }

// 0, 1, 2, … of one unit each: loaded at 64 - skew bytes it is the index of Avx512::joined().
template <int unit>
struct Ascending {
  alignas(64) unsigned char bytes[128] = {};
  constexpr Ascending() {
    for (int i = 0; i < 128 / unit; ++i) bytes[i * unit] = static_cast<unsigned char>(i);
  }
};
template <int unit>
constexpr Ascending<unit> ascending{};

struct Avx512 {
  static constexpr int lanes = 4;
  using type = __m512i;

  static type gather(const char* const (&p)[4]) {
    __m512i v = _mm512_castsi128_si512(load_lane(p[0]));
    v = with_lane(v, p[1], 0x00f0);
    v = with_lane(v, p[2], 0x0f00);
    return with_lane(v, p[3], 0xf000);
  }
  static type gather_partial(const char* const (&p)[4], int bytes) {
    const auto mask = static_cast<__mmask16>(low_bytes(bytes));
    return four(_mm_maskz_loadu_epi8(mask, p[0]), _mm_maskz_loadu_epi8(mask, p[1]),
                _mm_maskz_loadu_epi8(mask, p[2]), _mm_maskz_loadu_epi8(mask, p[3]));
  }
  template <int word>
  static type zip_low(type a, type b) {
    if constexpr (word == 1)
      return _mm512_unpacklo_epi8(a, b);
    else if constexpr (word == 2)
      return _mm512_unpacklo_epi16(a, b);
    else if constexpr (word == 4)
      return _mm512_unpacklo_epi32(a, b);
    else
      return _mm512_unpacklo_epi64(a, b);
  }
  template <int word>
  static type zip_high(type a, type b) {
    if constexpr (word == 1)
      return _mm512_unpackhi_epi8(a, b);
    else if constexpr (word == 2)
      return _mm512_unpackhi_epi16(a, b);
    else if constexpr (word == 4)
      return _mm512_unpackhi_epi32(a, b);
    else
      return _mm512_unpackhi_epi64(a, b);
  }
  static type gather_pair(const char* a, const char* b) {
    const auto* low = reinterpret_cast<const __m256i*>(a);
    const auto* high = reinterpret_cast<const __m256i*>(b);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(low)),
                              _mm256_loadu_si256(high), 1);
  }
  static type even_lanes(type a, type b) { return _mm512_shuffle_i32x4(a, b, 0x88); }
  static type odd_lanes(type a, type b) { return _mm512_shuffle_i32x4(a, b, 0xdd); }
  static type load(const char* src) { return _mm512_loadu_si512(src); }
  static void store(char* dst, type v) { _mm512_storeu_si512(dst, v); }
  static void store_partial(char* dst, type v, int bytes) {
    _mm512_mask_storeu_epi8(dst, low_bytes(bytes), v);
  }
  static type load_partial(const char* src, int bytes) {
    return _mm512_maskz_loadu_epi8(low_bytes(bytes), src);
  }
  template <int lane>
  static void store_lane(char* dst, type v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm512_extracti32x4_epi32(v, lane));
  }
  template <int lane>
  static void store_lane_partial(char* dst, type v, int bytes) {
    _mm_mask_storeu_epi8(dst, static_cast<__mmask16>(low_bytes(bytes)),
                         _mm512_extracti32x4_epi32(v, lane));
  }
  static void stream(char* dst, type v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), v); }
  template <int unit>
  static type joined(type before, type v, int64_t skew) {
    const __m512i at = _mm512_loadu_si512(ascending<unit>.bytes + 64 - skew);
    if constexpr (unit == 1)
      return _mm512_permutex2var_epi8(before, at, v);
    else if constexpr (unit == 2)
      return _mm512_permutex2var_epi16(before, at, v);
    else
      return _mm512_permutex2var_epi32(before, at, v);
  }
  template <int unit>
  static void store_joined(char* dst, type before, type v, int valid, const Panel& p) {
    const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(dst) & 63);
    char* line = dst - skew;
    const int end = skew + valid;  // from the start of the line
    const __mmask64 begin = p.first ? ~low_bytes(skew) : ~0ull;
    _mm512_mask_storeu_epi8(line, begin & low_bytes(end < 64 ? end : 64),
                            joined<unit>(before, v, skew));
    if (p.last && end > 64)
      _mm512_mask_storeu_epi8(line + 64, low_bytes(end - 64), joined<unit>(v, v, skew));
  }

 private:
  static __m128i load_lane(const char* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  // A masked broadcast from memory runs on two ports. The intrinsic becomes a load and a shuffle,
  // which runs on one.
  static __m512i with_lane(__m512i v, const char* p, __mmask16 lane) {
    __asm__("vbroadcasti32x4 %1, %0%{%2%}"
            : "+v"(v)
            : "m"(*reinterpret_cast<const __m128i_u*>(p)), "Yk"(lane));
    return v;
  }
  static __m512i four(__m128i a, __m128i b, __m128i c, __m128i d) {
    __m512i v = _mm512_castsi128_si512(a);
    v = _mm512_inserti32x4(v, b, 1);
    v = _mm512_inserti32x4(v, c, 2);
    return _mm512_inserti32x4(v, d, 3);
  }
};

}  // namespace

PanelKernels panel_kernels_avx512(int word) { return skewed_panel_kernels<Avx512>(word); }

}  // namespace infini::cpu

#endif
