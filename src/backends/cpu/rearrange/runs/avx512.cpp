// Runs by AVX-512.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/rearrange/runs/avx512.h"
#include "backends/cpu/rearrange/runs/copies.h"

namespace infini::cpu {
namespace {

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

// Four vectors, `apart` elements apart, are read before they are written: a read right behind a write waits for it where both
// have the same place in their pages. Returns the first element that is left.
template <int word, int64_t apart, class Source>
[[gnu::always_inline]] inline int64_t run_fours(char* dst, const Source& source, int64_t i,
                                                int64_t end) {
  constexpr int64_t lanes = 64 / word;
  for (; i + 4 * apart <= end; i += 3 * apart)
    for (const int64_t stop = i + apart; i < stop; i += lanes) {
      __m512i v[4];
      for (int k = 0; k < 4; ++k) v[k] = source.at(i + k * apart);
      for (int k = 0; k < 4; ++k) _mm512_storeu_si512(dst + (i + k * apart) * word, v[k]);
    }
  return i;
}

// The last vector overlaps its neighbour. Where dst and what is read of src just fill L1, four pages of dst grow side by side, so that
// most reads have another place in their pages than all writes that are under way.
template <int word, class Source>
[[gnu::always_inline]] inline void run_cached(char* dst, const Source& source, int64_t i,
                                              int64_t end) {
  constexpr int64_t lanes = 64 / word, page = 4096 / word;
  if constexpr (requires { source.template run_groups<false>(dst, i, end); })
    i = source.template run_groups<false>(dst, i, end);
  if constexpr (Source::by_pages)
    if (end - i < 8 * page) i = run_fours<word, page>(dst, source, i, end);
  i = run_fours<word, lanes>(dst, source, i, end);
  for (; i + lanes <= end; i += lanes) _mm512_storeu_si512(dst + i * word, source.at(i));
  if (i < end) _mm512_storeu_si512(dst + (end - lanes) * word, source.at(end - lanes));
}

// A line that two runs share, put together before it is streamed. The last bytes of v belong to it:
void end_in(Seam& seam, __m512i v, int bytes) { _mm512_storeu_si512(seam.bytes + bytes, v); }

// Its first bytes are there, the others are the first ones of v.
__m512i begin_in(Seam& seam, __m512i v, int there) {
  _mm512_storeu_si512(seam.bytes + 64 + there, v);
  return load(seam.bytes + 64);
}

// Whole lines are streamed, the edges stored by masks: an ordinary store to a line that is streamed,
// too, would fetch it from memory. Or they are seams to the runs before and behind.
template <int word, class Source>
void run_streamed(char* dst, const Source& source, int64_t i, int64_t end, bool ascending,
                  Seam* before, Seam* behind) {
  constexpr int64_t lanes = 64 / word;
  const auto skew = static_cast<int>(reinterpret_cast<uintptr_t>(dst + i * word) % 64);
  if (skew % word != 0) return run_cached<word>(dst, source, i, end);
  if (skew != 0) {
    if (before != nullptr)
      stream(dst + i * word - skew, begin_in(*before, source.at(i), skew));
    else
      _mm512_mask_storeu_epi8(dst + i * word, low_bits(64 - skew), source.at(i));
    i += (64 - skew) / word;
  }
  if constexpr (requires { source.template run_groups<true>(dst, i, end); })
    i = source.template run_groups<true>(dst, i, end);
  if (!ascending) i = stream_side_by_side<word>(dst, source, i, end);
  for (; i + lanes <= end; i += lanes) stream(dst + i * word, source.at(i));
  const auto rest = static_cast<int>((end - i) * word);
  if (rest == 0) return;
  if (behind != nullptr)
    end_in(*behind, source.at(end - lanes), rest);
  else
    _mm512_mask_storeu_epi8(dst + (end - lanes) * word, ~low_bits(64 - rest),
                            source.at(end - lanes));
}

template <int word, class Source>
void run_vectors(const Line& line) {
  const bool joins = line.repeat_dst == line.count * word && line.count == line.length;
  Source source(line);
  Seam seam;
  Seam* const joint = joins ? &seam : nullptr;
  Line next = line;
  for (int64_t turn = 0; turn < line.repeat; ++turn) {
    source.move_to(next, turn);
    const Piece piece(next, word);
    if (line.streamed)
      run_streamed<word>(next.dst, source, piece.begin, piece.end, line.places == 1,
                         turn > 0 ? joint : line.before,
                         turn + 1 < line.repeat ? joint : line.behind);
    else
      run_cached<word>(next.dst, source, piece.begin, piece.end);
    next.dst += line.repeat_dst;
    next.src += line.repeat_src;
  }
}

// Short runs are left to the plain loops, which touch nothing but their elements: in the cache less than a vector of small
// words, of which those take many turns.
template <int word, template <int> class Source, LineKind kind>
void run_or_loop(const Line& line) {
  const int64_t least = line.streamed || word >= 4 ? 128 : 64;
  if (line.count * word >= least)
    run_vectors<word, Source<word>>(line);
  else
    line_kernel_portable(kind, word)(line);
}

// Past the cache, runs that together use all of src: read once for all of them.
template <int word, int ways>
void run_unwoven(Line line) {
  const auto skew =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(line.dst + line.begin * word) % 64);
  Line part = line;  // up to a whole line, then what is left behind the last one
  part.count = (64 - skew) % 64 / word;
  line_kernel_portable(LineKind::step, word)(part);
  const int64_t end = line.begin + line.count;
  part.begin = stream_unwoven<word, ways>(line, line.begin + part.count, end);
  part.count = end - part.begin;
  line_kernel_portable(LineKind::step, word)(part);
}

template <int word, int ways>
void run_step_ways(const Line& line) {
  const auto first = reinterpret_cast<uintptr_t>(line.dst);
  if (line.streamed && line.repeat == ways && line.repeat_src == word &&
      line.repeat_dst % 64 == 0 && first % word == 0)
    run_unwoven<word, ways>(line);
  else
    run_vectors<word, Step<word, ways>>(line);
}

template <int word>
void run_step(const Line& line) {
  if (line.count * word < 128) return line_kernel_portable(LineKind::step, word)(line);
  switch (line.ways) {
    case 2: return run_step_ways<word, 2>(line);
    case 3: return run_step_ways<word, 3>(line);
    case 4: return run_step_ways<word, 4>(line);
    case 5: return run_vectors<word, Step<word, 5>>(line);
    case 6: return run_vectors<word, Step<word, 6>>(line);
    case 7: return run_vectors<word, Step<word, 7>>(line);
    default: return run_vectors<word, Step<word, 8>>(line);
  }
}

struct Wide {
  static Wide load(const char* src) { return {_mm512_loadu_si512(src)}; }
  void stream(char* dst) const { infini::cpu::stream(dst, value); }
  // Even a store of nothing would fetch its line from memory.
  static void copy_part(char* dst, const char* src, int64_t bytes) {
    if (bytes == 0) return;
    const __mmask64 part = low_bits(static_cast<int>(bytes));
    _mm512_mask_storeu_epi8(dst, part, _mm512_maskz_loadu_epi8(part, src));
  }
  __m512i value;
};

// One vector of src becomes `ways` masked vectors of dst: the gaps are not touched.
template <int word>
void spread_vector(char* dst, __m512i v, int ways, const Picks<word>* picks) {
  for (int j = 0; j < ways; ++j, dst += 64) {
    const __m512i spread = picks[j].apply(v, v);
    if constexpr (word == 1)
      _mm512_mask_storeu_epi8(dst, picks[j].mask, spread);
    else if constexpr (word == 2)
      _mm512_mask_storeu_epi16(dst, static_cast<__mmask32>(picks[j].mask), spread);
    else if constexpr (word == 4)
      _mm512_mask_storeu_epi32(dst, static_cast<__mmask16>(picks[j].mask), spread);
    else
      _mm512_mask_storeu_epi64(dst, static_cast<__mmask8>(picks[j].mask), spread);
  }
}

// Lines with gaps have to be fetched before they are written, and these reads are what limits it: some parts at once keep more of
// them under way.
template <int word, int64_t parts>
int64_t spread_parts(const Line& line, const Picks<word>* picks) {
  constexpr int64_t lanes = 64 / word, ahead = 8192 / parts;
  const int64_t part = line.count / lanes / parts * lanes, begin = line.begin;
  const int ways = static_cast<int>(line.ways);
  for (int64_t i = begin; i < begin + part; i += lanes)
    for (int64_t at = i; at < begin + parts * part; at += part) {
      char* dst = line.dst + at * ways * word;
      const char* src = line.src + at * word;
      for (int j = 0; j < ways; ++j) __builtin_prefetch(dst + ahead + 64 * j, 1);
      __builtin_prefetch(src + ahead);
      spread_vector<word>(dst, load(src), ways, picks);
    }
  return begin + parts * part;
}

// Returns the first element that is left.
template <int word>
int64_t spread_side_by_side(const Line& line, const Picks<word>* picks) {
  const int64_t bytes = line.count * word;
  if (!line.streamed || bytes < 4 << 10) return line.begin;
  return bytes < 128 << 10 ? spread_parts<word, 4>(line, picks)
                           : spread_parts<word, 8>(line, picks);
}

template <int word>
void spread_once(const Line& line, const Picks<word>* picks) {
  constexpr int64_t lanes = 64 / word;
  const int64_t end = line.begin + line.count;
  int64_t i = spread_side_by_side<word>(line, picks);
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
    case LineKind::copy: return run_copy<Wide>;  // in bytes
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
