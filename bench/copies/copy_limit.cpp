// The CPU's plain copies, and a plain read.
#include "bench/copies/copy_limit.h"

#include <cstdint>
#include <cstring>

#include "backends/cpu/runtime/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::bench {
namespace {

// Copies one thread's part.
using CopyRange = void (*)(char* dst, const char* src, size_t bytes);

void memcpy_range(char* dst, const char* src, size_t bytes) { std::memcpy(dst, src, bytes); }

#if defined(__x86_64__)

void rep_movsb_range(char* dst, const char* src, size_t bytes) {
  asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
}

// The line that is asked for while another one is copied: nearer ones come too late, farther ones gain nothing.
constexpr size_t prefetched_ahead = 1024;

template <bool prefetched>
void stream_lines(char* dst, const char* src, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) {
    if constexpr (prefetched) _mm_prefetch(src + i + prefetched_ahead, _MM_HINT_T0);
    for (size_t j = i; j < i + 64; j += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(dst + j),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + j)));
  }
}

// A line by one store.
template <bool prefetched>
__attribute__((target("avx512f"))) void stream_lines_avx512(char* dst, const char* src,
                                                            size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) {
    if constexpr (prefetched) _mm_prefetch(src + i + prefetched_ahead, _MM_HINT_T0);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), _mm512_loadu_si512(src + i));
  }
}

template <bool prefetched>
void stream_range(char* dst, const char* src, size_t bytes) {
  const size_t head = (64 - reinterpret_cast<uintptr_t>(dst) % 64) % 64;
  if (bytes < head + 64) return memcpy_range(dst, src, bytes);
  memcpy_range(dst, src, head);
  const size_t whole = (bytes - head) / 64 * 64;
  if (__builtin_cpu_supports("avx512f"))
    stream_lines_avx512<prefetched>(dst + head, src + head, whole);
  else
    stream_lines<prefetched>(dst + head, src + head, whole);
  memcpy_range(dst + head + whole, src + head + whole, bytes - head - whole);
  _mm_sfence();
}

#endif

// Copies into a buffer that stays in the first cache: libc's widest loads, and nothing but loads from
// memory. Eight places are read in turns: the processor's own fetching stops at the end of each page.
void read_range(const char* src, size_t bytes) {
  constexpr size_t chunk = 1024, places = 8;
  const size_t part = bytes / places;
  alignas(64) char near[chunk];
  for (size_t i = 0; i + chunk <= part; i += chunk)
    for (size_t place = 0; place < places; ++place) {
      std::memcpy(near, src + place * part + i, chunk);
      asm volatile("" : : "r"(near) : "memory");  // it counts as used
    }
}

// body(first byte, bytes), whole pages to each thread.
template <class Body>
void divide(size_t bytes, int threads, Body body) {
  constexpr size_t page = 4096;
  const auto pages = static_cast<int64_t>((bytes + page - 1) / page);
  cpu::parallel_for(pages, bytes < (256u << 10) ? 1 : threads, [&](int64_t begin, int64_t end) {
    const size_t from = static_cast<size_t>(begin) * page;
    const size_t to =
        static_cast<size_t>(end) * page < bytes ? static_cast<size_t>(end) * page : bytes;
    body(from, to - from);
  });
}

template <CopyRange range>
void copy_by(void* dst, const void* src, size_t bytes, int threads) {
  divide(bytes, threads, [=](size_t from, size_t size) {
    range(static_cast<char*>(dst) + from, static_cast<const char*>(src) + from, size);
  });
}

}  // namespace

const std::vector<PlainCopy>& plain_copies() {
  static const std::vector<PlainCopy> copies = {
    {"memcpy", copy_by<memcpy_range>},
#if defined(__x86_64__)
    {"rep movsb", copy_by<rep_movsb_range>},
    {"streaming copy", copy_by<stream_range<false>>},
    {"streaming copy with prefetch", copy_by<stream_range<true>>},
#endif
  };
  return copies;
}

void read_all(const void* src, size_t bytes, int threads) {
  divide(bytes, threads,
         [=](size_t from, size_t size) { read_range(static_cast<const char*>(src) + from, size); });
}

}  // namespace infini::bench
