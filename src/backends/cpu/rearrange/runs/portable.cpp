// Runs in plain loops, and the choice among the levels.
#include <cstring>

#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/runs/kernels.h"

namespace infini::cpu {
namespace {

// Copies are scheduled in bytes.
void copy_line(const Line& line) {
  char* dst = line.dst + line.begin;
  const char* src = line.src + line.begin;
  if (line.streamed)
    copy_streamed(dst, src, line.count);
  else
    std::memcpy(dst, src, static_cast<size_t>(line.count));
}

// One word after another, at two constant steps.
template <int word>
void move_words(char* dst, int64_t dst_step, const char* src, int64_t src_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(dst + i * dst_step, src + i * src_step, word);
}

template <int word>
void fill_line(const Line& line) {
  move_words<word>(line.dst + line.begin * word, word, line.src, 0, line.count);
}
template <int word>
void flip_line(const Line& line) {
  move_words<word>(line.dst + line.begin * word, word, line.src - line.begin * word, -word,
                   line.count);
}
template <int word>
void step_line(const Line& line) {
  const int64_t step = line.ways * word;
  move_words<word>(line.dst + line.begin * word, word, line.src + line.begin * step, step,
                   line.count);
}
template <int word>
void weave_line(const Line& line) {
  char* dst = line.dst + line.begin * word;
  int64_t plane = line.begin % line.ways, at = line.begin / line.ways;
  for (int64_t i = 0; i < line.count; ++i) {
    std::memcpy(dst + i * word, line.src + plane * line.plane_step + at * word, word);
    if (++plane < line.ways) continue;
    plane = 0;
    ++at;
  }
}
template <int word>
void spread_line(const Line& line) {
  const int64_t step = line.ways * word;
  move_words<word>(line.dst + line.begin * step, step, line.src + line.begin * word, word,
                   line.count);
}

template <LineKernel once>
void repeated(const Line& line) {
  Line next = line;
  for (int64_t i = 0; i < line.repeat; ++i) {
    once(next);
    next.dst += line.repeat_dst;
    next.src += line.repeat_src;
  }
}

template <int word>
LineKernel portable(LineKind kind) {
  switch (kind) {
    case LineKind::copy: return repeated<copy_line>;
    case LineKind::fill: return repeated<fill_line<word>>;
    case LineKind::flip: return repeated<flip_line<word>>;
    case LineKind::step: return repeated<step_line<word>>;
    case LineKind::weave: return repeated<weave_line<word>>;
    case LineKind::spread: return repeated<spread_line<word>>;
  }
  return nullptr;
}

}  // namespace

LineKernel line_kernel_portable(LineKind kind, int word) {
  switch (word) {
    case 1: return portable<1>(kind);
    case 2: return portable<2>(kind);
    case 4: return portable<4>(kind);
    case 8: return portable<8>(kind);
    default: return portable<16>(kind);
  }
}

LineKernel line_kernel(Isa level, LineKind kind, int word) {
#if defined(__x86_64__)
  if (level == Isa::avx512)
    if (const LineKernel kernel = line_kernel_avx512(kind, word)) return kernel;
  if (level == Isa::avx2)
    if (const LineKernel kernel = line_kernel_avx2(kind, word)) return kernel;
#endif
  (void)level;
  return line_kernel_portable(kind, word);
}

}  // namespace infini::cpu
