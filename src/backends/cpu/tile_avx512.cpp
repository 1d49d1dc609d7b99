// Panel kernels for AVX-512: a line is one register of four lanes, edges are masks.
#if defined(__x86_64__)

#include <immintrin.h>

#include "backends/cpu/tile_panel.h"

namespace infini::cpu {
namespace {

__mmask64 low_bytes(int count) { return _bzhi_u64(~0ull, static_cast<unsigned>(count)); }

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
    if constexpr (word == 1) return _mm512_unpacklo_epi8(a, b);
    else if constexpr (word == 2) return _mm512_unpacklo_epi16(a, b);
    else if constexpr (word == 4) return _mm512_unpacklo_epi32(a, b);
    else return _mm512_unpacklo_epi64(a, b);
  }
  template <int word>
  static type zip_high(type a, type b) {
    if constexpr (word == 1) return _mm512_unpackhi_epi8(a, b);
    else if constexpr (word == 2) return _mm512_unpackhi_epi16(a, b);
    else if constexpr (word == 4) return _mm512_unpackhi_epi32(a, b);
    else return _mm512_unpackhi_epi64(a, b);
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
  static void stream(char* dst, type v) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), v);
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

// 64 bytes of the pair (before, v) that begin `skew` bytes before v; unit: 1, 2 or 4 divides skew.
template <int unit>
inline __m512i joined(__m512i before, __m512i v, const char* index) {
  const __m512i at = _mm512_loadu_si512(index);
  if constexpr (unit == 1) return _mm512_permutex2var_epi8(before, at, v);
  else if constexpr (unit == 2) return _mm512_permutex2var_epi16(before, at, v);
  else return _mm512_permutex2var_epi32(before, at, v);
}

// 0, 1, 2, … of one unit each: loaded at 64 - skew bytes it is the index of joined().
template <int unit>
struct Ascending {
  alignas(64) unsigned char bytes[128] = {};
  constexpr Ascending() {
    for (int i = 0; i < 128 / unit; ++i) bytes[i * unit] = static_cast<unsigned char>(i);
  }
};
template <int unit>
constexpr Ascending<unit> ascending{};

// One column of one panel: `v` are the panel's bytes, `valid` how many of them count.
template <int unit>
inline void emit_edge(char* dst, __m512i before, __m512i v, int valid, const Panel& p) {
  const int skew = static_cast<int>(reinterpret_cast<uintptr_t>(dst) & 63);
  const auto* index = reinterpret_cast<const char*>(ascending<unit>.bytes) + 64 - skew;
  char* line = dst - skew;
  const int end = skew + valid;  // from the start of the line
  const __mmask64 begin = p.first ? ~low_bytes(skew) : ~0ull;
  _mm512_mask_storeu_epi8(line, begin & low_bytes(end < 64 ? end : 64),
                          joined<unit>(before, v, index));
  if (p.last && end > 64)
    _mm512_mask_storeu_epi8(line + 64, low_bytes(end - 64), joined<unit>(v, v, index));
}

// The first and the last panel of a run, one that is not written, and what is left of any panel beside whole blocks.
template <int word>
void run_skewed_edge(const Panel& p, int64_t begin) {
  constexpr int L = 16 / word, unit = word < 4 ? word : 4;
  const Rows<Avx512, word> rows(p, 0);
  __m512i v[L];
  for (int64_t c = begin; c < p.columns; c += L) {
    const int columns = p.columns - c < L ? static_cast<int>(p.columns - c) : L;
    load_block<Avx512, word>(v, rows.at, c * word, columns);
    auto* carry = reinterpret_cast<__m512i*>(p.carry + c * line_bytes);
    for (int k = 0; k < columns; ++k) {
      if (!p.unwritten)
        emit_edge<unit>(p.dst + p.dst_of_column[c + k], _mm512_load_si512(carry + k), v[k],
                        p.rows * word, p);
      _mm512_store_si512(carry + k, v[k]);
    }
  }
}

template <int word>
void run_skewed(const Panel& p) {
  constexpr int L = 16 / word, unit = word < 4 ? word : 4;
  if (p.first || p.last || p.unwritten) return run_skewed_edge<word>(p, 0);
  const auto* index = reinterpret_cast<const char*>(ascending<unit>.bytes) + 64;
  auto* carry = reinterpret_cast<__m512i*>(p.carry);
  const auto emit = [dst = p.dst, column = p.dst_of_column, carry, index](int64_t c, const __m512i* v,
                                                                                   auto between) {
    for (int k = 0; k < L; ++k) {
      between(k);
      char* to = dst + column[c + k];
      const auto skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) & 63);
      const __m512i before = _mm512_load_si512(carry + c + k);
      _mm512_store_si512(carry + c + k, v[k]);
      Avx512::stream(to - skew, joined<unit>(before, v[k], index - skew));
    }
  };
  run_skewed_edge<word>(p, walk_streamed<Avx512, word, true>(p, emit));
}

template <int word>
PanelKernels with_skewed() {
  PanelKernels kernels = panel_kernels_of<Avx512, word>();
  kernels.skewed = run_skewed<word>;
  return kernels;
}

}  // namespace

PanelKernels panel_kernels_avx512(int word) {
  switch (word) {
    case 1: return with_skewed<1>();
    case 2: return with_skewed<2>();
    case 4: return with_skewed<4>();
    case 8: return with_skewed<8>();
    default: return with_skewed<16>();
  }
}

}  // namespace infini::cpu

#endif
