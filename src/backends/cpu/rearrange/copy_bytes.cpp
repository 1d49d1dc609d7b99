// Streaming copies: by 32-byte registers where the machine has them, else memcpy.
#include "backends/cpu/rearrange/copy_bytes.h"

#include <cstring>

#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/tiles/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {
namespace {

#if defined(__x86_64__)

// SSE2 is enough: four 16-byte streaming stores in a row fill one line.
inline void stream_line(char* dst, const char* src) {
  const auto* from = reinterpret_cast<const __m128i*>(src);
  auto* to = reinterpret_cast<__m128i*>(dst);
  const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
  const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
  _mm_stream_si128(to, a);
  _mm_stream_si128(to + 1, b);
  _mm_stream_si128(to + 2, c);
  _mm_stream_si128(to + 3, d);
}

// Four pages in turns, four lines of each while its next four are fetched, keep more reads under way
// than one ascending stream does.
int64_t stream_pages(char* dst, const char* src, int64_t bytes) {
  constexpr int64_t page = 4096, group = 4 * page, visit = 4 * line_bytes;
  int64_t done = 0;
  for (; done + group <= bytes; done += group)
    for (int64_t at = done; at < done + page; at += visit)
      for (int64_t i = at; i < at + group; i += page) {
        for (int64_t line = i; line < i + visit; line += line_bytes)
          __builtin_prefetch(src + line + visit);
        for (int64_t line = i; line < i + visit; line += line_bytes)
          stream_line(dst + line, src + line);
      }
  return done;
}

#endif

}  // namespace

void copy_streamed(char* dst, const char* src, int64_t bytes) {
#if defined(__x86_64__)
  const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % line_bytes);
  if (bytes >= head + line_bytes) {
    std::memcpy(dst, src, static_cast<size_t>(head));
    dst += head;
    src += head;
    bytes -= head;
    int64_t done = stream_pages(dst, src, bytes);
    for (; done + line_bytes <= bytes; done += line_bytes) stream_line(dst + done, src + done);
    dst += done;
    src += done;
    bytes -= done;
  }
#endif
  std::memcpy(dst, src, static_cast<size_t>(bytes));
}

}  // namespace infini::cpu
