// Runs by AVX-512: every kind is a way to make the 64 bytes of dst that begin at element i.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/line_kernels.h"

namespace infini::cpu {
namespace {

__mmask64 low_bits(int count) { return _bzhi_u64(~0ull, static_cast<unsigned>(count)); }

// Elements of v at the places in `index`, where the mask says so; others as in `rest`. Words of 16
// bytes are moved as pairs of 8, see indices().
template <int word>
__m512i pick(__m512i rest, __mmask64 mask, __m512i index, __m512i v) {
  if constexpr (word == 1) return _mm512_mask_permutexvar_epi8(rest, mask, index, v);
  else if constexpr (word == 2) return _mm512_mask_permutexvar_epi16(rest, static_cast<__mmask32>(mask), index, v);
  else if constexpr (word == 4) return _mm512_mask_permutexvar_epi32(rest, static_cast<__mmask16>(mask), index, v);
  else return _mm512_mask_permutexvar_epi64(rest, static_cast<__mmask8>(mask), index, v);
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

// Bytes from asking for a line past the cache to using it, where several places are read in turns.
constexpr int64_t fetched_ahead = 512;

template <int word>
struct Copy {
  static constexpr int64_t streams = 1;  // what is long is copied in pages, see below
  explicit Copy(const Line& line) : src(line.src) {}
  void move_to(const Line& line, int64_t) { src = line.src; }
  // Short runs mostly follow one another in src: fetched ahead as if they were one.
  __m512i at(int64_t i) const {
    __builtin_prefetch(src + i * word + 2048);
    return load(src + i * word);
  }
  const char* src;
};

template <int word>
struct Fill {
  static constexpr int64_t streams = 1;
  explicit Fill(const Line& line) { move_to(line, 0); }
  void move_to(const Line& line, int64_t) {
    alignas(64) char bytes[64];
    for (int i = 0; i < 64; i += word) std::memcpy(bytes + i, line.src, word);
    value = load(bytes);
  }
  __m512i at(int64_t) const { return value; }
  __m512i value;
};

template <int word>
struct Flip {
  static constexpr int64_t streams = 4;
  explicit Flip(const Line& line) : src(line.src) {}
  void move_to(const Line& line, int64_t) { src = line.src; }
  __m512i at(int64_t i) const {
    return picks.apply(_mm512_setzero_si512(), load(src - i * word - (64 - word)));
  }
  static constexpr Picks<word> all_reversed() {
    Picks<word> result;
    for (int i = 0; i < 64 / word; ++i) result.set(i, 64 / word - 1 - i);
    return result;
  }
  static constexpr Picks<word> picks = all_reversed();
  const char* src;
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
  static constexpr int64_t streams = 4;
  explicit Step(const Line& line) { move_to(line, 0); }
  // Of runs that share their source each fetches some of the lines that come next.
  void move_to(const Line& line, int64_t turn) {
    src = line.src;
    fetch = line.repeat == 1 || turn >= ways ? 0 : line.count * ways * word + 64 * turn;
    streamed = line.streamed;
  }
  __m512i at(int64_t i) const {
    const char* p = src + i * ways * word;
    if (fetch != 0) __builtin_prefetch(p + fetch);
    else if (streamed)
      for (int j = 0; j < ways; ++j) __builtin_prefetch(p + fetched_ahead + 64 * j);
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
  int64_t fetch = 0;
  bool streamed = false;
};

// Of each plane only the elements that are used are read.
template <int word>
struct Weave {
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

void stream(char* dst, __m512i v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), v); }

// A few parts of a long run at once keep more reads under way than one ascending stream does.
template <int word, class Source>
int64_t stream_side_by_side(char* dst, const Source& source, int64_t begin, int64_t end) {
  constexpr int64_t lanes = 64 / word, streams = Source::streams, least_lines = 64;
  const int64_t part = (end - begin) / lanes / streams * lanes;
  if (part < least_lines * lanes) return begin;
  for (int64_t i = begin; i < begin + part; i += lanes)
    for (int64_t at = i; at < begin + streams * part; at += part)
      stream(dst + at * word, source.at(at));
  return begin + streams * part;
}

// Whole lines are streamed, the edges stored by masks: an ordinary store to a line that is streamed,
// too, would fetch it from memory. Without streaming the last vector overlaps its neighbour.
template <int word, class Source>
void run_once(const Line& line, const Source& source) {
  constexpr int64_t lanes = 64 / word;
  char* dst = line.dst;
  int64_t i = line.begin;
  const int64_t end = line.begin + line.count;
  const auto skew = static_cast<int>(reinterpret_cast<uintptr_t>(dst + i * word) % 64);
  if (!line.streamed || skew % word != 0) {
    for (; i + lanes <= end; i += lanes) _mm512_storeu_si512(dst + i * word, source.at(i));
    if (i < end) _mm512_storeu_si512(dst + (end - lanes) * word, source.at(end - lanes));
    return;
  }
  if (skew != 0) {
    _mm512_mask_storeu_epi8(dst + i * word, low_bits(64 - skew), source.at(i));
    i += (64 - skew) / word;
  }
  i = stream_side_by_side<word>(dst, source, i, end);
  for (; i + lanes <= end; i += lanes) stream(dst + i * word, source.at(i));
  const auto rest = static_cast<int>((end - i) * word);
  if (rest > 0)
    _mm512_mask_storeu_epi8(dst + (end - lanes) * word, ~low_bits(64 - rest),
                            source.at(end - lanes));
}

template <int word, class Source>
void run_vectors(const Line& line) {
  Source source(line);
  Line next = line;
  for (int64_t turn = 0; turn < line.repeat; ++turn) {
    source.move_to(next, turn);
    run_once<word>(next, source);
    next.dst += line.repeat_dst;
    next.src += line.repeat_src;
  }
}

// Short runs are left to the plain loops, which touch nothing but their elements.
template <int word, template <int> class Source, LineKind kind>
void run_or_loop(const Line& line) {
  if (line.count * word >= 128) run_vectors<word, Source<word>>(line);
  else line_kernel_portable(kind, word)(line);
}

template <int word>
void run_step(const Line& line) {
  if (line.count * word < 128) return line_kernel_portable(LineKind::step, word)(line);
  switch (line.ways) {
    case 2: return run_vectors<word, Step<word, 2>>(line);
    case 3: return run_vectors<word, Step<word, 3>>(line);
    case 4: return run_vectors<word, Step<word, 4>>(line);
    case 5: return run_vectors<word, Step<word, 5>>(line);
    case 6: return run_vectors<word, Step<word, 6>>(line);
    case 7: return run_vectors<word, Step<word, 7>>(line);
    default: return run_vectors<word, Step<word, 8>>(line);
  }
}

// Four pages in turns, four lines of each while its next four are fetched, keep more reads under way
// than one ascending stream does.
int64_t copy_pages(char* dst, const char* src, int64_t bytes) {
  constexpr int64_t page = 4096, group = 4 * page, visit = 256;
  int64_t done = 0;
  for (; done + group <= bytes; done += group)
    for (int64_t at = done; at < done + page; at += visit)
      for (int64_t i = at; i < at + group; i += page) {
        __m512i v[visit / 64];
        for (int64_t line = 0; line < visit; line += 64) __builtin_prefetch(src + i + visit + line);
        for (int64_t line = 0; line < visit; line += 64) v[line / 64] = load(src + i + line);
        for (int64_t line = 0; line < visit; line += 64) stream(dst + i + line, v[line / 64]);
      }
  return done;
}

void copy_long(Line line) {
  char* dst = line.dst + line.begin;
  const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % 64);
  _mm512_mask_storeu_epi8(dst, low_bits(static_cast<int>(head)), load(line.src + line.begin));
  const int64_t done = head + copy_pages(dst + head, line.src + line.begin + head, line.count - head);
  line.begin += done;
  line.count -= done;
  if (line.count >= 64) return run_once<1>(line, Copy<1>(line));
  std::memcpy(line.dst + line.begin, line.src + line.begin, static_cast<size_t>(line.count));
}

// Four runs side by side, for the same reason; each has its own edges.
void copy_four(const Line& line) {
  char* dst[4];
  const char* src[4];
  int64_t left[4], common = line.count;
  for (int q = 0; q < 4; ++q) {
    dst[q] = line.dst + line.begin + q * line.repeat_dst;
    src[q] = line.src + line.begin + q * line.repeat_src;
    const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst[q]) % 64);
    _mm512_mask_storeu_epi8(dst[q], low_bits(static_cast<int>(head)), load(src[q]));
    dst[q] += head;
    src[q] += head;
    left[q] = line.count - head;
    common = left[q] < common ? left[q] : common;
  }
  int64_t i = 0;
  for (; i + 64 <= common; i += 64)
    for (int q = 0; q < 4; ++q) stream(dst[q] + i, load(src[q] + i));
  for (int q = 0; q < 4; ++q) {
    int64_t at = i;
    for (; at + 64 <= left[q]; at += 64) stream(dst[q] + at, load(src[q] + at));
    const __mmask64 rest = low_bits(static_cast<int>(left[q] - at));
    _mm512_mask_storeu_epi8(dst[q] + at, rest, _mm512_maskz_loadu_epi8(rest, src[q] + at));
  }
}

// Ordinary stores are memcpy's business.
void run_copy(const Line& line) {
  constexpr int64_t least_side_by_side = 2 << 10, least_long = 16 << 10;
  if (!line.streamed || line.count < 128) return line_kernel_portable(LineKind::copy, 1)(line);
  Line next = line;
  int64_t turn = 0;
  const auto advance = [&](int64_t turns) {
    turn += turns;
    next.dst += turns * line.repeat_dst;
    next.src += turns * line.repeat_src;
  };
  const bool broadcast = line.repeat > 1 && line.repeat_src == 0;  // reads from L1
  if (broadcast || line.count < least_side_by_side) return run_vectors<1, Copy<1>>(line);
  if (line.count < least_long)
    for (; turn + 4 <= line.repeat; advance(4)) copy_four(next);
  for (; turn < line.repeat; advance(1)) copy_long(next);
}

// One vector of src becomes `ways` masked vectors of dst: the gaps are not touched.
template <int word>
void spread_vector(char* dst, __m512i v, int ways, const Picks<word>* picks) {
  for (int j = 0; j < ways; ++j, dst += 64) {
    const __m512i spread = picks[j].apply(v, v);
    if constexpr (word == 1) _mm512_mask_storeu_epi8(dst, picks[j].mask, spread);
    else if constexpr (word == 2) _mm512_mask_storeu_epi16(dst, static_cast<__mmask32>(picks[j].mask), spread);
    else if constexpr (word == 4) _mm512_mask_storeu_epi32(dst, static_cast<__mmask16>(picks[j].mask), spread);
    else _mm512_mask_storeu_epi64(dst, static_cast<__mmask8>(picks[j].mask), spread);
  }
}

// Lines with gaps have to be fetched before they are written: four parts at once, well ahead.
template <int word>
int64_t spread_parts(const Line& line, const Picks<word>* picks) {
  constexpr int64_t lanes = 64 / word, parts = 4, ahead = 2048, least_lines = 16;
  const int64_t part = line.count / lanes / parts * lanes, begin = line.begin;
  if (!line.streamed || part < least_lines * lanes) return begin;
  const int ways = static_cast<int>(line.ways);
  for (int64_t i = begin; i < begin + part; i += lanes)
    for (int64_t at = i; at < begin + parts * part; at += part) {
      char* dst = line.dst + at * ways * word;
      for (int j = 0; j < ways; ++j) __builtin_prefetch(dst + ahead + 64 * j, 1);
      spread_vector<word>(dst, load(line.src + at * word), ways, picks);
    }
  return begin + parts * part;
}

template <int word>
void spread_once(const Line& line, const Picks<word>* picks) {
  constexpr int64_t lanes = 64 / word;
  const int64_t end = line.begin + line.count;
  int64_t i = spread_parts<word>(line, picks);
  for (; i + lanes <= end; i += lanes)
    spread_vector<word>(line.dst + i * line.ways * word, load(line.src + i * word),
                        static_cast<int>(line.ways), picks);
  Line rest = line;
  rest.begin = i;
  rest.count = end - i;
  rest.repeat = 1;
  if (rest.count > 0) line_kernel_portable(LineKind::spread, word)(rest);
}

template <int word>
void run_spread(const Line& line) {
  constexpr int64_t lanes = 64 / word;
  Picks<word> picks[max_ways];
  for (int64_t i = 0; i < lanes; ++i) picks[i * line.ways / lanes].set(i * line.ways % lanes, i);
  Line next = line;
  for (int64_t turn = 0; turn < line.repeat; ++turn) {
    spread_once<word>(next, picks);
    next.dst += line.repeat_dst;
    next.src += line.repeat_src;
  }
}

template <int word>
LineKernel kernel_of(LineKind kind) {
  switch (kind) {
    case LineKind::copy: return run_copy;  // in bytes
    case LineKind::fill: return run_or_loop<word, Fill, LineKind::fill>;
    case LineKind::flip: return run_or_loop<word, Flip, LineKind::flip>;
    case LineKind::step: return run_step<word>;
    case LineKind::weave: return run_or_loop<word, Weave, LineKind::weave>;
    case LineKind::spread: return run_spread<word>;
  }
  return nullptr;
}

}  // namespace

LineKernel line_kernel_avx512(LineKind kind, int word) {
  switch (word) {
    case 1: return kernel_of<1>(kind);
    case 2: return kernel_of<2>(kind);
    case 4: return kernel_of<4>(kind);
    case 8: return kernel_of<8>(kind);
    default: return kernel_of<16>(kind);
  }
}

}  // namespace infini::cpu

#endif
