// Shuffle programs by AVX-512 VBMI: a pick is one permutation of 64 bytes.
#if defined(__x86_64__)

#include <immintrin.h>

#include "backends/cpu/rearrange/shuffle/kernels.h"

namespace infini::cpu {
namespace {

inline __m512i load(const void* p) { return _mm512_loadu_si512(p); }

inline void stream(char* dst, __m512i v) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(dst), v);
}

// Where vectors go: to any place, to lines, or to lines that begin `skew` bytes before the vectors do.
struct AnyPlace {
  explicit AnyPlace(const ShuffleRun&) {}
  void put(char* dst, __m512i v) { _mm512_storeu_si512(dst, v); }
  void finish() {}
};
struct Lines {
  explicit Lines(const ShuffleRun&) {}
  void put(char* dst, __m512i v) { stream(dst, v); }
  void finish() {}
};
struct Ascending {
  constexpr Ascending() {
    for (int i = 0; i < 64; ++i) byte[i] = static_cast<uint8_t>(i);
  }
  alignas(64) uint8_t byte[64] = {};
};
constexpr Ascending ascending;

// The end of each vector waits for the next one.
struct SkewedLines {
  explicit SkewedLines(const ShuffleRun& run)
      : skew(run.skew), carry(run.carry), begins(run.begins), waiting(load(run.carry)) {
    // Of an index only 6 bits count.
    rotation = _mm512_sub_epi8(_mm512_load_si512(ascending.byte),
                               _mm512_set1_epi8(static_cast<char>(skew)));
    ours = ~uint64_t{0} << skew;
  }
  void put(char* dst, __m512i v) {
    const __m512i rotated = _mm512_permutexvar_epi8(rotation, v);
    if (begins) [[unlikely]]
      _mm512_mask_storeu_epi8(dst - skew, ours, rotated);
    else
      stream(dst - skew, _mm512_mask_blend_epi8(ours, waiting, rotated));
    begins = false;
    waiting = rotated;
  }
  void finish() { _mm512_storeu_si512(carry, waiting); }

  int64_t skew;
  char* carry;
  bool begins;
  __m512i waiting, rotation;
  __mmask64 ours;
};

// The picks of one vector after another. (Pointers of its own: stores to dst could change the program's.)
template <int constant_depth>
struct Picks {
  // Many windows are planes that all vectors of a period share: it is enough to ask for one of them with each vector.
  static constexpr bool asks_for_all = constant_depth > 0 && constant_depth < 5;

  explicit Picks(const ShuffleProgram& program)
      : indices(program.indices(0)),
        offsets(program.offsets.data()),
        masks(program.masks.data()),
        depth(constant_depth == 0 ? program.depth : constant_depth) {}

  __m512i next(const char* src, int64_t ahead) {
    if constexpr (!asks_for_all) {
      __builtin_prefetch(src + offsets[turn] + ahead);
      turn = turn + 1 == depth ? 0 : turn + 1;
    }
    const int64_t count = constant_depth == 0 ? depth : constant_depth;
    __m512i v = count == 1
                    ? _mm512_permutexvar_epi8(_mm512_load_si512(indices), window(src, 0, ahead))
                    : pair(src, 0, ahead);
    int64_t k = 2;
    for (; k + 2 <= count; k += 2)
      v = _mm512_mask_blend_epi8(masks[k] | masks[k + 1], v, pair(src, k, ahead));
    if (k < count)
      v = _mm512_mask_permutexvar_epi8(v, masks[k], _mm512_load_si512(indices + 64 * k),
                                       window(src, k, ahead));
    indices += 64 * count;
    offsets += count;
    masks += count;
    return v;
  }
  __m512i pair(const char* src, int64_t k, int64_t ahead) const {
    const __m512i first = window(src, k, ahead), second = window(src, k + 1, ahead);
    return _mm512_permutex2var_epi8(first, _mm512_load_si512(indices + 64 * k), second);
  }
  __m512i window(const char* src, int64_t k, int64_t ahead) const {
    if constexpr (asks_for_all) __builtin_prefetch(src + offsets[k] + ahead);
    return load(src + offsets[k]);
  }

  const uint8_t* indices;
  const int64_t* offsets;
  const uint64_t* masks;
  int64_t depth, turn = 0;
};

template <int constant_depth, class Target>
void run_periods(const ShuffleProgram& program, const ShuffleRun& run) {
  const Picks<constant_depth> all(program);
  const ShuffleRun now = run;
  Target target(now);
  char* dst = now.dst;
  const char* src = now.src;
  for (int64_t period = 0; period < now.periods;
       ++period, dst += now.dst_step, src += now.src_step) {
    auto picks = all;
    for (int64_t v = 0; v < now.vectors; ++v) target.put(dst + 64 * v, picks.next(src, now.ahead));
  }
  target.finish();
}

// Lines with gaps have to be fetched before they are written.
template <int constant_depth>
void run_gapped(const ShuffleProgram& program, const ShuffleRun& run) {
  constexpr int64_t written_ahead = 2048;
  const Picks<constant_depth> all(program);
  const ShuffleRun now = run;
  const uint64_t* stores = program.stores.data();
  char* dst = now.dst;
  const char* src = now.src;
  for (int64_t period = 0; period < now.periods;
       ++period, dst += now.dst_step, src += now.src_step) {
    auto picks = all;
    for (int64_t v = 0; v < now.vectors; ++v) {
      if (now.ahead != 0) __builtin_prefetch(dst + 64 * v + written_ahead, 1);
      _mm512_mask_storeu_epi8(dst + 64 * v, stores[v], picks.next(src, now.ahead));
    }
  }
}

template <int constant_depth>
void run(const ShuffleProgram& program, const ShuffleRun& run) {
  if (program.gap > 0)
    run_gapped<constant_depth>(program, run);
  else if (run.carry == nullptr)
    run_periods<constant_depth, AnyPlace>(program, run);
  else if (run.skew == 0)
    run_periods<constant_depth, Lines>(program, run);
  else
    run_periods<constant_depth, SkewedLines>(program, run);
}

void stream_lines(char* dst, const char* src, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) stream(dst + i, load(src + i));
}

}  // namespace

ShuffleKernels shuffle_kernels_avx512(int depth) {
  switch (depth) {
    case 1: return {run<1>, stream_lines, true};
    case 2: return {run<2>, stream_lines, true};
    case 3: return {run<3>, stream_lines, true};
    case 4: return {run<4>, stream_lines, true};
    case 5: return {run<5>, stream_lines, true};
    case 6: return {run<6>, stream_lines, true};
    case 7: return {run<7>, stream_lines, true};
    case 8: return {run<8>, stream_lines, true};
    default: return {run<0>, stream_lines, true};
  }
}

}  // namespace infini::cpu

#endif
