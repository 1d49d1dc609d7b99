// Streaming copies: by 32-byte registers where the machine has them, else memcpy.
#include "backends/cpu/copy_bytes.h"

#include <cstring>

#include "backends/cpu/isa.h"
#include "backends/cpu/tile_kernels.h"

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

constexpr int64_t page_bytes = 4096, pages_at_once = 4;

// Four pages at once keep more loads under way than one ascending stream.
int64_t stream_pages(char* dst, const char* src, int64_t bytes) {
  int64_t done = 0;
  for (; done + pages_at_once * page_bytes <= bytes; done += pages_at_once * page_bytes)
    for (int64_t at = done; at < done + page_bytes; at += 2 * line_bytes)
      for (int64_t page = 0; page < pages_at_once * page_bytes; page += page_bytes) {
        stream_line(dst + page + at, src + page + at);
        stream_line(dst + page + at + line_bytes, src + page + at + line_bytes);
      }
  return done;
}

#endif

}  // namespace

void copy_streamed(char* dst, const char* src, int64_t bytes) {
#if defined(__x86_64__)
  const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % line_bytes);
  if (bytes > head + line_bytes) {
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
