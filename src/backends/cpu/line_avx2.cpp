// Runs by AVX2: loops with constant steps, which the compiler turns into vectors. What goes past the cache
// is made in a buffer in L1, piece by piece, and leaves it in whole lines.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/line_kernels.h"

namespace infini::cpu {
namespace {

// Each writes elements first .. first + count of a run one after another; `group`: first and count are
// multiples of it.
template <int size>
struct Fill {
  static constexpr LineKind kind = LineKind::fill;
  static constexpr int word = size, group = 1;
  static void make(char* __restrict out, const Line& line, int64_t, int64_t count) {
    char value[word];
    std::memcpy(value, line.src, word);
    for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * word, value, word);
  }
};

template <int size>
struct Flip {
  static constexpr LineKind kind = LineKind::flip;
  static constexpr int word = size, group = 1;
  static void make(char* __restrict out, const Line& line, int64_t first, int64_t count) {
    const char* __restrict src = line.src - first * word;
    for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * word, src - i * word, word);
  }
};

template <int size, int ways>
struct Step {
  static constexpr LineKind kind = LineKind::step;
  static constexpr int word = size, group = 1;
  static void make(char* __restrict out, const Line& line, int64_t first, int64_t count) {
    const char* __restrict src = line.src + first * ways * word;
    for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * word, src + i * ways * word, word);
  }
};

template <int size, int ways>
struct Weave {
  static constexpr LineKind kind = LineKind::weave;
  static constexpr int word = size, group = ways;
  static void make(char* __restrict out, const Line& line, int64_t first, int64_t count) {
    const char* __restrict plane[ways];
    for (int k = 0; k < ways; ++k) plane[k] = line.src + k * line.plane_step + first / ways * word;
    for (int64_t i = 0; i < count / ways; ++i)
      for (int k = 0; k < ways; ++k) std::memcpy(out + (i * ways + k) * word, plane[k] + i * word, word);
  }
};

// Any part of a run, straight to its place.
template <class Maker>
void run_part(const Line& line, int64_t first, int64_t count) {
  if constexpr (Maker::group == 1) {
    Maker::make(line.dst + first * Maker::word, line, first, count);
  } else {
    Line part = line;
    part.begin = first;
    part.count = count;
    part.repeat = 1;
    line_kernel_portable(Maker::kind, Maker::word)(part);
  }
}

void stream_lines(char* dst, const char* src, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + i)));
}

// Whole lines from element i on, as many as whole buffers give; returns the element behind them. A buffer
// begins and ends with whole groups.
template <class Maker>
int64_t stream_buffers(const Line& line, int64_t i, int64_t end) {
  constexpr int64_t group = Maker::group, word = Maker::word, bytes = 1024 * group, count = bytes / word;
  constexpr int64_t more = group == 1 ? 0 : group;
  alignas(64) char buffer[bytes + more * word];
  for (; i + count + more <= end; i += count) {
    const int64_t back = i % group;
    Maker::make(buffer, line, i - back, count + more);
    stream_lines(line.dst + i * word, buffer + back * word, bytes);
  }
  return i;
}

// Whole groups straight to their places.
template <class Maker>
int64_t store_groups(const Line& line, int64_t i, int64_t end) {
  const int64_t count = (end - i) / Maker::group * Maker::group;
  Maker::make(line.dst + i * Maker::word, line, i, count);
  return i + count;
}

template <class Maker>
void run_once(const Line& line) {
  constexpr int64_t word = Maker::word, group = Maker::group;
  const int64_t begin = line.begin, end = begin + line.count;
  const auto skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(line.dst + begin * word) % 64);
  const bool streamed = line.streamed && skew % word == 0;
  // To the next whole line, or to the next whole group.
  const int64_t head = streamed ? (64 - skew) % 64 / word : (group - begin % group) % group;
  int64_t i = head < line.count ? begin + head : end;
  run_part<Maker>(line, begin, i - begin);
  if (i < end) i = streamed ? stream_buffers<Maker>(line, i, end) : store_groups<Maker>(line, i, end);
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

// Ways that are no constant here are the plain loops' business.
template <int word, template <int, int> class Maker>
void run_ways(const Line& line) {
  switch (line.ways) {
    case 2: return run<Maker<word, 2>>(line);
    case 3: return run<Maker<word, 3>>(line);
    case 4: return run<Maker<word, 4>>(line);
    default: return line_kernel_portable(Maker<word, 2>::kind, word)(line);
  }
}

template <int word>
LineKernel kernel_of(LineKind kind) {
  switch (kind) {
    case LineKind::fill: return run<Fill<word>>;
    case LineKind::flip: return run<Flip<word>>;
    case LineKind::step: return run_ways<word, Step>;
    case LineKind::weave: return run_ways<word, Weave>;
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
