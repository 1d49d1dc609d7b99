// Runs by AVX2: loops with constant steps, which the compiler turns into vectors, and byte shuffles. What goes
// past the cache is made in a buffer in L1, piece by piece, and leaves it in whole lines.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/rearrange/runs/copies.h"
#include "backends/cpu/rearrange/runs/kernels.h"

namespace infini::cpu {
namespace {

struct Wide {
  static Wide load(const char* src) {
    const auto* from = reinterpret_cast<const __m256i*>(src);
    return {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
  }
  // The compiler may not move one half away from the other: a line that waits for it is written twice.
  void stream(char* dst) const {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst) + 1, high);
    asm volatile("" ::: "memory");
  }
  static void copy_part(char* dst, const char* src, int64_t bytes) {
    std::memcpy(dst, src, static_cast<size_t>(bytes));
  }
  __m256i low, high;
};

// Each writes elements first .. first + count of a run one after another; `group`: first and count are multiples
// of it; `streams`: as many parts of a long run are made in turns, which keeps more reads under way than one does;
// `source_bytes`: from an element's source to the next one's. Behind `first + count` the run goes on to `end`.
template <int size>
struct Fill {
  static constexpr LineKind kind = LineKind::fill;
  static constexpr int word = size, group = 1, streams = 1, source_bytes = 0;
  static void make(char* __restrict out, const Line& line, int64_t, int64_t count, int64_t) {
    char value[word];
    std::memcpy(value, line.src, word);
    for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * word, value, word);
  }
};

template <int size>
struct Flip {
  static constexpr LineKind kind = LineKind::flip;
  static constexpr int word = size, group = 1, streams = 4, source_bytes = -size;
  static void make(char* __restrict out, const Line& line, int64_t first, int64_t count, int64_t) {
    const char* __restrict src = line.src - first * word;
    for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * word, src - i * word, word);
  }
};

// How `ways` loads of 16 bytes become 16 bytes of every ways-th element: a byte with the highest bit set gives 0.
template <int word, int ways>
struct StepShuffles {
  constexpr StepShuffles() {
    for (auto& shuffle : bytes)
      for (auto& byte : shuffle) byte = static_cast<char>(0x80);
    for (int i = 0; i < 16; ++i) {
      const int from = i / word * ways * word + i % word;
      bytes[from / 16][i] = static_cast<char>(from % 16);
    }
  }
  alignas(16) char bytes[ways][16] = {};
};

template <int size, int ways>
struct Step {
  static constexpr LineKind kind = LineKind::step;
  static constexpr int word = size, group = 1, streams = 4, source_bytes = size * ways;
  static void make(char* __restrict out, const Line& line, int64_t first, int64_t count,
                   int64_t end) {
    const char* __restrict src = line.src + first * ways * word;
    int64_t i = 0;
    if constexpr (word < 16) i = shuffle(out, src, first + count < end ? count : count - 1);
    move_words(out + i * word, src + i * ways * word, count - i);
  }
  // Out of line: where it is a rest, the compiler would make vectors of what is less than one.
  [[gnu::noinline]] static void move_words(char* __restrict out, const char* __restrict src,
                                           int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * word, src + i * ways * word, word);
  }
  // Two halves of a register side by side; up to `ways` words are read from each element's on.
  static int64_t shuffle(char* __restrict out, const char* __restrict src, int64_t count) {
    static constexpr StepShuffles<word, ways> table{};
    constexpr int64_t lanes = 32 / word, half = 16 * ways;
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes, src += 2 * half) {
      __m256i v = _mm256_setzero_si256();
      for (int j = 0; j < ways; ++j) {
        const auto* from = reinterpret_cast<const __m128i*>(src) + j;
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(from)),
                                                     _mm_loadu_si128(from + ways), 1);
        const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(table.bytes[j]));
        v = _mm256_or_si256(v, _mm256_shuffle_epi8(both, _mm256_broadcastsi128_si256(bytes)));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * word), v);
    }
    return i;
  }
};

template <int size, int ways>
struct Weave {
  static constexpr LineKind kind = LineKind::weave;
  static constexpr int word = size, group = ways, streams = 1, source_bytes = 0;
  static void make(char* __restrict out, const Line& line, int64_t first, int64_t count, int64_t) {
    const char* __restrict plane[ways];
    for (int k = 0; k < ways; ++k) plane[k] = line.src + k * line.plane_step + first / ways * word;
    for (int64_t i = 0; i < count / ways; ++i)
      for (int k = 0; k < ways; ++k)
        std::memcpy(out + (i * ways + k) * word, plane[k] + i * word, word);
  }
};

// Any part of a run, straight to its place.
template <class Maker>
void run_part(const Line& line, int64_t first, int64_t count) {
  if constexpr (Maker::group == 1) {
    Maker::make(line.dst + first * Maker::word, line, first, count, line.begin + line.count);
  } else {
    Line part = line;
    part.begin = first;
    part.count = count;
    part.repeat = 1;
    line_kernel_portable(Maker::kind, Maker::word)(part);
  }
}

void stream_lines(char* dst, const char* src, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) Wide::load(src + i).stream(dst + i);
}

// The source of as many elements, those that come `ahead` bytes behind them.
template <class Maker>
void fetch_ahead(const Line& line, int64_t i, int64_t count) {
  constexpr int64_t ahead = Maker::source_bytes < 0 ? -1024 : 1024;
  constexpr int64_t bytes = Maker::source_bytes < 0 ? -Maker::source_bytes : Maker::source_bytes;
  const char* src = line.src + i * Maker::source_bytes + ahead;
  for (int64_t at = 0; at < count * bytes; at += 64)
    __builtin_prefetch(Maker::source_bytes < 0 ? src - at : src + at);
}

// Whole lines of a few parts of a long run in turns; returns the element behind them.
template <class Maker>
int64_t stream_side_by_side(const Line& line, int64_t i, int64_t end) {
  constexpr int64_t word = Maker::word, bytes = 256, count = bytes / word, streams = Maker::streams,
                    least = 16;
  const int64_t part = (end - i) / count / streams * count;
  if (part < least * count) return i;
  alignas(64) char buffer[bytes];
  for (int64_t first = i; first < i + part; first += count)
    for (int64_t at = first; at < i + streams * part; at += part) {
      fetch_ahead<Maker>(line, at, count);
      Maker::make(buffer, line, at, count, end);
      stream_lines(line.dst + at * word, buffer, bytes);
    }
  return i + streams * part;
}

// Whole lines from element i on, as many as whole buffers give; returns the element behind them. A buffer
// begins and ends with whole groups.
template <class Maker>
int64_t stream_buffers(const Line& line, int64_t i, int64_t end) {
  constexpr int64_t group = Maker::group, word = Maker::word, bytes = 1024 * group,
                    count = bytes / word;
  constexpr int64_t more = group == 1 ? 0 : group;
  alignas(64) char buffer[bytes + more * word];
  if constexpr (Maker::streams > 1) i = stream_side_by_side<Maker>(line, i, end);
  for (; i + count + more <= end; i += count) {
    const int64_t back = i % group;
    Maker::make(buffer, line, i - back, count + more, end);
    stream_lines(line.dst + i * word, buffer + back * word, bytes);
  }
  return i;
}

// Whole groups straight to their places.
template <class Maker>
int64_t store_groups(const Line& line, int64_t i, int64_t end) {
  const int64_t count = (end - i) / Maker::group * Maker::group;
  Maker::make(line.dst + i * Maker::word, line, i, count, end);
  return i + count;
}

template <class Maker>
void run_once(const Line& line) {
  constexpr int64_t word = Maker::word, group = Maker::group;
  const auto [begin, end] = Piece(line, word);
  const int64_t to_line = head_of(line.dst + begin * word);
  const bool streamed = line.streamed && to_line % word == 0;
  // To the next whole line, or to the next whole group.
  const int64_t head = streamed ? to_line / word : (group - begin % group) % group;
  int64_t i = head < end - begin ? begin + head : end;
  run_part<Maker>(line, begin, i - begin);
  if (i < end)
    i = streamed ? stream_buffers<Maker>(line, i, end) : store_groups<Maker>(line, i, end);
  run_part<Maker>(line, i, end - i);
}

template <class Maker>
void run(const Line& line) {
  Line next = line;
  for (int64_t turn = 0; turn < line.repeat; ++turn) {
    run_once<Maker>(next);
    next.dst += line.repeat_dst;
    next.src += line.repeat_src;
  }
}

// Past the cache, `ways` runs that together use all of src: a piece of each in turns, so that it is read once.
template <class Maker>
void run_unwoven(const Line& line) {
  constexpr int64_t word = Maker::word, bytes = 256, count = bytes / word;
  const int64_t end = line.begin + line.count, head = head_of(line.dst + line.begin * word) / word;
  int64_t i = line.begin + (head < line.count ? head : line.count);
  const auto all = [&](auto make) {
    Line next = line;
    for (int64_t k = 0; k < line.repeat;
         ++k, next.dst += line.repeat_dst, next.src += line.repeat_src)
      make(next);
  };
  all([&](const Line& next) { run_part<Maker>(next, line.begin, i - line.begin); });
  alignas(64) char buffer[bytes];
  for (; i + count <= end; i += count) {
    fetch_ahead<Maker>(line, i, count);
    all([&](const Line& next) {
      Maker::make(buffer, next, i, count, end);
      stream_lines(next.dst + i * word, buffer, bytes);
    });
  }
  all([&](const Line& next) { run_part<Maker>(next, i, end - i); });
}

template <int word, int ways>
void run_step(const Line& line) {
  const bool whole_words = reinterpret_cast<uintptr_t>(line.dst) % word == 0;
  const bool share_all =
      line.repeat == ways && line.repeat_src == word && line.repeat_dst % 64 == 0;
  if (line.streamed && share_all && whole_words)
    run_unwoven<Step<word, ways>>(line);
  else
    run<Step<word, ways>>(line);
}

template <int word>
void run_steps(const Line& line) {
  switch (line.ways) {
    case 2: return run_step<word, 2>(line);
    case 3: return run_step<word, 3>(line);
    case 4: return run_step<word, 4>(line);
    case 5: return run_step<word, 5>(line);
    case 6: return run_step<word, 6>(line);
    case 7: return run_step<word, 7>(line);
    default: return run_step<word, 8>(line);
  }
}

// Ways that are no constant here are the plain loops' business.
template <int word>
void run_weaves(const Line& line) {
  switch (line.ways) {
    case 2: return run<Weave<word, 2>>(line);
    case 3: return run<Weave<word, 3>>(line);
    case 4: return run<Weave<word, 4>>(line);
    default: return line_kernel_portable(LineKind::weave, word)(line);
  }
}

template <int word>
LineKernel kernel_of(LineKind kind) {
  switch (kind) {
    case LineKind::copy: return run_copy<Wide>;  // in bytes
    case LineKind::fill: return run<Fill<word>>;
    case LineKind::flip: return run<Flip<word>>;
    case LineKind::step: return run_steps<word>;
    case LineKind::weave: return run_weaves<word>;
    default: return nullptr;
  }
}

}  // namespace

LineKernel line_kernel_avx2(LineKind kind, int word) {
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
