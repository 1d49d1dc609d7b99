// Panel kernels for AVX2: a line is two registers of two lanes.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/rearrange/panels/skewed.h"

namespace infini::cpu {
namespace {

// Loaded from word i on: where the words of a register rotated by i come from, and which of them come from
// the register behind it.
alignas(64) constexpr int rotated[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
alignas(64) constexpr int behind[16] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};

struct Avx2 {
  static constexpr int lanes = 4;
  struct type {
    __m256i low, high;
  };

  static type gather(const char* const (&p)[4]) {
    return {two(load_lane(p[0]), load_lane(p[1])), two(load_lane(p[2]), load_lane(p[3]))};
  }
  static type gather_partial(const char* const (&p)[4], int bytes) {
    return {two(load_lane(p[0], bytes), load_lane(p[1], bytes)),
            two(load_lane(p[2], bytes), load_lane(p[3], bytes))};
  }
  template <int word>
  static type zip_low(const type& a, const type& b) {
    return {unpack_low<word>(a.low, b.low), unpack_low<word>(a.high, b.high)};
  }
  template <int word>
  static type zip_high(const type& a, const type& b) {
    return {unpack_high<word>(a.low, b.low), unpack_high<word>(a.high, b.high)};
  }
  static type gather_pair(const char* a, const char* b) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b))};
  }
  static type even_lanes(const type& a, const type& b) {
    return {_mm256_permute2x128_si256(a.low, a.high, 0x20),
            _mm256_permute2x128_si256(b.low, b.high, 0x20)};
  }
  static type odd_lanes(const type& a, const type& b) {
    return {_mm256_permute2x128_si256(a.low, a.high, 0x31),
            _mm256_permute2x128_si256(b.low, b.high, 0x31)};
  }
  static type load(const char* src) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + 32))};
  }
  static void store(char* dst, const type& v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), v.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + 32), v.high);
  }
  static void store_partial(char* dst, const type& v, int bytes) {
    alignas(64) char line[64];
    store(line, v);
    std::memcpy(dst, line, static_cast<size_t>(bytes));
  }
  static type load_partial(const char* src, int bytes) {
    alignas(64) char line[64] = {};
    std::memcpy(line, src, static_cast<size_t>(bytes));
    return load(line);
  }
  template <int lane>
  static void store_lane(char* dst, const type& v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst),
                     _mm256_extracti128_si256(lane < 2 ? v.low : v.high, lane % 2));
  }
  template <int lane>
  static void store_lane_partial(char* dst, const type& v, int bytes) {
    alignas(16) char part[16];
    store_lane<lane>(part, v);
    std::memcpy(dst, part, static_cast<size_t>(bytes));
  }
  static void stream(char* dst, const type& v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst), v.low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + 32), v.high);
  }
  template <int unit>
  static type joined(const type& before, const type& v, int64_t skew) {
    if (skew == 0) return v;
    if constexpr (unit < 4) {  // no registers are rotated by bytes here
      alignas(64) char bytes[128];
      store(bytes, before);
      store(bytes + 64, v);
      return load(bytes + 64 - skew);
    }
    return skew > 32 ? from_three(before.low, before.high, v.low, 64 - skew)
                     : from_three(before.high, v.low, v.high, 32 - skew);
  }
  template <int unit>
  static void store_joined(char* dst, const type& before, const type& v, int valid,
                           const Panel& p) {
    alignas(64) char bytes[128];
    store(bytes, before);
    store(bytes + 64, v);
    const auto skew = static_cast<int>(reinterpret_cast<uintptr_t>(dst) & 63), end = skew + valid;
    const int begin = p.first ? skew : 0, whole = end < 64 ? end : 64;
    std::memcpy(dst - skew + begin, bytes + 64 - skew + begin, static_cast<size_t>(whole - begin));
    if (p.last && end > 64)
      std::memcpy(dst - skew + 64, bytes + 128 - skew, static_cast<size_t>(end - 64));
  }

 private:
  // 64 bytes of three registers, from byte `at` < 32 on.
  static type from_three(__m256i a, __m256i b, __m256i c, int64_t at) {
    const __m256i index = words_at(rotated, at), next = words_at(behind, at);
    a = _mm256_permutevar8x32_epi32(a, index);
    b = _mm256_permutevar8x32_epi32(b, index);
    c = _mm256_permutevar8x32_epi32(c, index);
    return {_mm256_blendv_epi8(a, b, next), _mm256_blendv_epi8(b, c, next)};
  }
  static __m256i words_at(const int* table, int64_t at) {
    return _mm256_loadu_si256(
        reinterpret_cast<const __m256i*>(reinterpret_cast<const char*>(table) + at));
  }
  static __m128i load_lane(const char* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m128i load_lane(const char* p, int bytes) {
    alignas(16) char part[16] = {};
    std::memcpy(part, p, static_cast<size_t>(bytes));
    return load_lane(part);
  }
  static __m256i two(__m128i low, __m128i high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  }
  template <int word>
  static __m256i unpack_low(__m256i a, __m256i b) {
    if constexpr (word == 1)
      return _mm256_unpacklo_epi8(a, b);
    else if constexpr (word == 2)
      return _mm256_unpacklo_epi16(a, b);
    else if constexpr (word == 4)
      return _mm256_unpacklo_epi32(a, b);
    else
      return _mm256_unpacklo_epi64(a, b);
  }
  template <int word>
  static __m256i unpack_high(__m256i a, __m256i b) {
    if constexpr (word == 1)
      return _mm256_unpackhi_epi8(a, b);
    else if constexpr (word == 2)
      return _mm256_unpackhi_epi16(a, b);
    else if constexpr (word == 4)
      return _mm256_unpackhi_epi32(a, b);
    else
      return _mm256_unpackhi_epi64(a, b);
  }
};

}  // namespace

PanelKernels panel_kernels_avx2(int word) { return skewed_panel_kernels<Avx2>(word); }

}  // namespace infini::cpu

#endif
