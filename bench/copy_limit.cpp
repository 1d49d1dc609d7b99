// The CPU's two plain copies, and a plain read.
#include "bench/copy_limit.h"

#include <cstdint>
#include <cstring>

#include "backends/cpu/runtime/parallel.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace infini::bench {
namespace {

void stream_range(char* dst, const char* src, size_t bytes) {
#if defined(__SSE2__)
  const size_t head = (64 - reinterpret_cast<uintptr_t>(dst) % 64) % 64;
  if (bytes < head + 64) {
    std::memcpy(dst, src, bytes);
    return;
  }
  std::memcpy(dst, src, head);
  size_t i = head;
  for (; i + 64 <= bytes; i += 64)
    for (size_t j = i; j < i + 64; j += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(dst + j),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + j)));
  std::memcpy(dst + i, src + i, bytes - i);
  _mm_sfence();
#else
  std::memcpy(dst, src, bytes);
#endif
}

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

}  // namespace

void memcpy_copy(void* dst, const void* src, size_t bytes, int threads) {
  divide(bytes, threads, [=](size_t from, size_t size) {
    std::memcpy(static_cast<char*>(dst) + from, static_cast<const char*>(src) + from, size);
  });
}

void streaming_copy(void* dst, const void* src, size_t bytes, int threads) {
  divide(bytes, threads, [=](size_t from, size_t size) {
    stream_range(static_cast<char*>(dst) + from, static_cast<const char*>(src) + from, size);
  });
}

void read_all(const void* src, size_t bytes, int threads) {
  divide(bytes, threads,
         [=](size_t from, size_t size) { read_range(static_cast<const char*>(src) + from, size); });
}

}  // namespace infini::bench
