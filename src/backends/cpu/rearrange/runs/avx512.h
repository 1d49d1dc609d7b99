// What runs are made of by AVX-512: every kind is a way to make the 64 bytes of dst that begin at element i.
//
// Included by line_avx512.cpp alone, which is compiled for it.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/rearrange/runs/kernels.h"

namespace infini::cpu {
namespace {

__mmask64 low_bits(int count) { return _bzhi_u64(~0ull, static_cast<unsigned>(count)); }

// Elements of v at the places in `index`, where the mask says so; others as in `rest`. Words of 16
// bytes are moved as pairs of 8, see indices().
template <int word>
__m512i pick(__m512i rest, __mmask64 mask, __m512i index, __m512i v) {
  if constexpr (word == 1)
    return _mm512_mask_permutexvar_epi8(rest, mask, index, v);
  else if constexpr (word == 2)
    return _mm512_mask_permutexvar_epi16(rest, static_cast<__mmask32>(mask), index, v);
  else if constexpr (word == 4)
    return _mm512_mask_permutexvar_epi32(rest, static_cast<__mmask16>(mask), index, v);
  else
    return _mm512_mask_permutexvar_epi64(rest, static_cast<__mmask8>(mask), index, v);
}

// An index vector and mask for pick(), filled in element by element.
template <int word>
struct Picks {
  static constexpr int unit = word == 16 ? 8 : word;
  alignas(64) unsigned char index[64] = {};
  __mmask64 mask = 0;

  constexpr void set(int64_t element, int64_t from) {
    for (int half = 0; half < word / unit; ++half) {
      const int64_t at = element * (word / unit) + half;
      index[at * unit] = static_cast<unsigned char>(from * (word / unit) + half);
      mask |= __mmask64{1} << at;
    }
  }
  __m512i apply(__m512i rest, __m512i v) const {
    return pick<unit>(rest, mask, _mm512_load_si512(index), v);
  }
};

__m512i load(const char* p) { return _mm512_loadu_si512(p); }

// Bytes from asking for a line past the cache to using it: where several places are read in turns, and as the machine likes
// it where runs ascend.
constexpr int64_t fetched_ahead = 512;
int64_t ahead_of(const Line& line) {
  if (!line.streamed) return 0;
  return line.places == 1 ? line.ahead : fetched_ahead;
}

template <int word>
struct Fill {
  static constexpr bool by_pages = false;
  static constexpr int64_t streams = 1;
  explicit Fill(const Line& line) { move_to(line, 0); }
  void move_to(const Line& line, int64_t) {
    if (line.streamed) __builtin_prefetch(line.src + 16 * line.repeat_src);
    alignas(64) char bytes[64];
    for (int i = 0; i < 64; i += word) std::memcpy(bytes + i, line.src, word);
    value = load(bytes);
  }
  __m512i at(int64_t) const { return value; }
  __m512i value;
};

template <int word>
struct Flip {
  static constexpr bool by_pages = false;
  static constexpr int64_t streams = 4;
  explicit Flip(const Line& line) : src(line.src), ahead(line.places == 1 ? ahead_of(line) : 0) {}
  void move_to(const Line& line, int64_t) { src = line.src; }
  __m512i at(int64_t i) const {
    const char* const p = src - i * word - (64 - word);
    if (ahead != 0) __builtin_prefetch(p - ahead);
    return picks.apply(_mm512_setzero_si512(), load(p));
  }
  static constexpr Picks<word> all_reversed() {
    Picks<word> result;
    for (int i = 0; i < 64 / word; ++i) result.set(i, 64 / word - 1 - i);
    return result;
  }
  static constexpr Picks<word> picks = all_reversed();
  const char* src;
  int64_t ahead;
};

// How `ways` loads become one vector of every ways-th element.
template <int word>
struct StepPicks {
  constexpr explicit StepPicks(int ways) {
    for (int64_t i = 0; i < 64 / word; ++i) {
      const int64_t byte = i * ways * word;
      picks[byte / 64].set(i, byte % 64 / word);
    }
  }
  Picks<word> picks[max_ways];
};

template <int word, int ways>
struct Step {
  static constexpr bool by_pages = ways == 2;
  static constexpr int64_t streams = 4;
  explicit Step(const Line& line) { move_to(line, 0); }
  // Of runs that share their source each fetches some of the lines that come next.
  void move_to(const Line& line, int64_t turn) {
    src = line.src;
    fetch = line.repeat == 1 || turn >= ways ? 0 : line.count * ways * word + 64 * turn;
    ahead = ahead_of(line);
  }
  __m512i at(int64_t i) const {
    const char* p = src + i * ways * word;
    if (fetch != 0)
      __builtin_prefetch(p + fetch);
    else if (ahead != 0)
      for (int j = 0; j < ways; ++j) __builtin_prefetch(p + ahead + 64 * j);
    __m512i v = _mm512_setzero_si512();
    for (int j = 0; 64 * j < used_bytes; ++j) v = table.picks[j].apply(v, load_used(p, j));
    return v;
  }
  // Nothing is read behind the last element that is used.
  static __m512i load_used(const char* p, int j) {
    const int left = used_bytes - 64 * j;
    return left >= 64 ? load(p + 64 * j) : _mm512_maskz_loadu_epi8(low_bits(left), p + 64 * j);
  }
  static constexpr int used_bytes = (64 / word - 1) * ways * word + word;
  static constexpr StepPicks<word> table{ways};
  const char* src;
  int64_t fetch = 0, ahead = 0;
};

// How one vector of each plane becomes `ways` vectors of the run.
template <int word, int ways>
struct WeavePicks {
  constexpr WeavePicks() {
    for (int64_t i = 0; i < 64 / word * ways; ++i)
      picks[i * word / 64][i % ways].set(i % (64 / word), i / ways);
  }
  Picks<word> picks[ways][ways];
};

// How `ways` vectors of the run become one vector of each plane.
template <int word, int ways>
struct UnweavePicks {
  constexpr UnweavePicks() {
    for (int64_t i = 0; i < 64 / word * ways; ++i)
      picks[i % ways][i * word / 64].set(i / ways, i % (64 / word));
  }
  Picks<word> picks[ways][ways];
};

void stream(char* dst, __m512i v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), v); }

// Elements from i on, as many as come from whole vectors of the planes, past the cache two parts at once; returns the
// element behind them. The planes are counted from the one that element i comes from.
template <int word, int ways, bool streamed>
int64_t run_woven(char* dst, const char* src, int64_t plane_step, int64_t i, int64_t end) {
  static constexpr WeavePicks<word, ways> table{};
  constexpr int64_t lanes = 64 / word, group = lanes * ways, sides = streamed ? 2 : 1;
  const int64_t part = (end - i) / group / sides;
  const char* plane[ways];
  for (int64_t k = 0; k < ways; ++k)
    plane[k] = src + (i + k) % ways * plane_step + (i + k) / ways * word;
  dst += i * word;
  for (int64_t n = 0; n < part; ++n, dst += group * word)
    for (int64_t side = 0; side < sides; ++side) {
      __m512i from[ways];
      for (int k = 0; k < ways; ++k) {
        const char* p = plane[k] + (n + side * part) * 64;
        if (streamed) __builtin_prefetch(p + fetched_ahead);
        from[k] = load(p);
      }
      for (int v = 0; v < ways; ++v) {
        __m512i woven = _mm512_setzero_si512();
        for (int k = 0; k < ways; ++k) woven = table.picks[v][k].apply(woven, from[k]);
        char* const to = dst + side * part * group * word + v * 64;
        if (streamed)
          stream(to, woven);
        else
          _mm512_storeu_si512(to, woven);
      }
    }
  return i + sides * part * group;
}

// The reverse: `ways` runs, repeat_dst apart, that share all lines of src. Elements from i on, as many as
// make whole vectors of each; returns the element behind them.
template <int word, int ways>
int64_t stream_unwoven(const Line& line, int64_t i, int64_t end) {
  static constexpr UnweavePicks<word, ways> table{};
  constexpr int64_t lanes = 64 / word;
  for (; i + lanes <= end; i += lanes) {
    const char* p = line.src + i * ways * word;
    __m512i from[ways];
    for (int j = 0; j < ways; ++j) {
      __builtin_prefetch(p + 64 * j + 2 * fetched_ahead);
      from[j] = load(p + 64 * j);
    }
    for (int k = 0; k < ways; ++k) {
      __m512i plane = _mm512_setzero_si512();
      for (int j = 0; j < ways; ++j) plane = table.picks[k][j].apply(plane, from[j]);
      stream(line.dst + k * line.repeat_dst + i * word, plane);
    }
  }
  return i;
}

// Of each plane only the elements that are used are read.
template <int word>
struct Weave {
  static constexpr bool by_pages = false;
  static constexpr int64_t streams = 2;
  explicit Weave(const Line& line)
      : src(line.src), plane(line.plane_step), ways(line.ways), streamed(line.streamed) {
    for (int64_t phase = 0; phase < ways; ++phase) {
      for (int64_t i = 0; i < 64 / word; ++i)
        picks[phase][(phase + i) % ways].set(i, (phase + i) / ways);
      const int64_t used = (phase + 64 / word - 1) / ways + 1;
      reads[phase] = low_bits(static_cast<int>(used * word));
    }
  }
  void move_to(const Line& line, int64_t) { src = line.src; }
  template <bool past>
  int64_t run_groups(char* dst, int64_t i, int64_t end) const {
    if (ways == 2) return run_woven<word, 2, past>(dst, src, plane, i, end);
    if (ways == 3) return run_woven<word, 3, past>(dst, src, plane, i, end);
    if (ways == 4) return run_woven<word, 4, past>(dst, src, plane, i, end);
    if constexpr (word <= 2) {  // of larger words so many are transposed
      if (ways == 5) return run_woven<word, 5, past>(dst, src, plane, i, end);
      if (ways == 6) return run_woven<word, 6, past>(dst, src, plane, i, end);
      if (ways == 7) return run_woven<word, 7, past>(dst, src, plane, i, end);
      if (ways == 8) return run_woven<word, 8, past>(dst, src, plane, i, end);
    }
    return i;
  }
  __m512i at(int64_t i) const {
    const int64_t phase = i % ways;
    const char* p = src + i / ways * word;
    __m512i v = _mm512_setzero_si512();
    for (int64_t c = 0; c < ways; ++c) {
      if (streamed) __builtin_prefetch(p + c * plane + fetched_ahead);
      v = picks[phase][c].apply(v, _mm512_maskz_loadu_epi8(reads[phase], p + c * plane));
    }
    return v;
  }
  const char* src;
  int64_t plane, ways;
  bool streamed;
  __mmask64 reads[max_ways];
  Picks<word> picks[max_ways][max_ways];
};

}  // namespace
}  // namespace infini::cpu
