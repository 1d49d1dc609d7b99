// Streaming copies: by 32-byte registers where the machine has them, else memcpy.
#include "backends/cpu/rearrange/copy_bytes.h"

#include <cstring>

#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/panels/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {
namespace {

#if defined(__x86_64__)

// Whole lines, dst aligned. SSE2 is enough: four 16-byte streaming stores in a row fill one line.
void stream_by_parts(char* dst, const char* src, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += line_bytes) {
    const auto* from = reinterpret_cast<const __m128i*>(src + i);
    auto* to = reinterpret_cast<__m128i*>(dst + i);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
}
// By one store each, which is what lines that lie apart want.
__attribute__((target("avx512f"))) void stream_whole(char* dst, const char* src, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += line_bytes)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), _mm512_loadu_si512(src + i));
}

// The same while lines ahead are fetched.
void stream_parts_ahead(char* dst, const char* src, int64_t bytes, int64_t ahead) {
  for (int64_t i = 0; i < bytes; i += line_bytes) {
    __builtin_prefetch(src + i + ahead);
    stream_by_parts(dst + i, src + i, line_bytes);
  }
}
__attribute__((target("avx512f"))) void stream_whole_ahead(char* dst, const char* src,
                                                           int64_t bytes, int64_t ahead) {
  for (int64_t i = 0; i < bytes; i += line_bytes) {
    __builtin_prefetch(src + i + ahead);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), _mm512_loadu_si512(src + i));
  }
}

using StreamLines = void (*)(char* dst, const char* src, int64_t bytes);
StreamLines stream_lines() {
  static const StreamLines best = isa() == Isa::avx512 ? stream_whole : stream_by_parts;
  return best;
}

// Four pages in turns, four lines of each while its next four are fetched, keep more reads under way
// than one ascending stream does.
int64_t stream_pages(StreamLines stream, char* dst, const char* src, int64_t bytes) {
  constexpr int64_t page = 4096, group = 4 * page, visit = 4 * line_bytes;
  int64_t done = 0;
  for (; done + group <= bytes; done += group)
    for (int64_t at = done; at < done + page; at += visit)
      for (int64_t i = at; i < at + group; i += page) {
        for (int64_t next = i; next < i + visit; next += line_bytes)
          __builtin_prefetch(src + next + visit);
        stream(dst + i, src + i, visit);
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
    const StreamLines stream = stream_lines();
    int64_t done = stream_pages(stream, dst, src, bytes);
    const int64_t rest = (bytes - done) / line_bytes * line_bytes;
    stream(dst + done, src + done, rest);
    done += rest;
    dst += done;
    src += done;
    bytes -= done;
  }
#endif
  std::memcpy(dst, src, static_cast<size_t>(bytes));
}

void copy_streamed_ahead(char* dst, const char* src, int64_t bytes, int64_t ahead) {
#if defined(__x86_64__)
  const auto head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % line_bytes);
  if (bytes >= head + line_bytes) {
    static const auto stream = isa() == Isa::avx512 ? stream_whole_ahead : stream_parts_ahead;
    if (head > 0) std::memcpy(dst, src, static_cast<size_t>(head));
    const int64_t lines = (bytes - head) / line_bytes * line_bytes;
    stream(dst + head, src + head, lines, ahead);
    const int64_t done = head + lines;
    if (done < bytes) std::memcpy(dst + done, src + done, static_cast<size_t>(bytes - done));
    return;
  }
#endif
  static_cast<void>(ahead);
  std::memcpy(dst, src, static_cast<size_t>(bytes));
}

}  // namespace infini::cpu
