// Small experiments: what a profile was made by.
#include <algorithm>

#include "backends/cpu/machine/experiment.h"
#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/runs/kernels.h"
#include "backends/cpu/runtime/parallel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {
namespace {

using Move = void (*)(char* dst, const char* src, int64_t bytes);

// Into a kilobyte that stays in L1, so that nothing but loads is waited for.
void move_load(char*, const char* src, int64_t bytes) {
  alignas(64) char near[1024];
  for (int64_t i = 0; i + 1024 <= bytes; i += 1024) {
    std::memcpy(near, src + i, sizeof near);
    asm volatile("" : : "r"(near) : "memory");
  }
}
template <bool streamed>
void move_store(char* dst, const char* src, int64_t bytes) {
  line_kernel(isa(), LineKind::fill, 1)(line_of(dst, src, bytes, streamed));
  if (streamed) streaming_fence();
}
void move_copy(char* dst, const char* src, int64_t bytes) {
  std::memcpy(dst, src, static_cast<size_t>(bytes));
}
template <int places>
void move_streamed(char* dst, const char* src, int64_t bytes) {
  Line line = line_of(dst, src, bytes, true);
  line.places = places;
  line_kernel(isa(), LineKind::copy, 1)(line);
  streaming_fence();
}

// `bytes` for each thread, again and again until that is worth looking at the clock.
double rate_of(const Room& room, Move move, int64_t bytes, int threads) {
  const int64_t again = std::max<int64_t>(1, (4 << 20) / bytes);
  const int turns = threads == 1 ? 4 : 12;  // threads that slept may begin on one processor
  const double least_ns = threads == 1 ? 0 : together_ns;
  const double ns = best_ns(
      [&] {
        parallel_for(threads, threads, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            for (int64_t turn = 0; turn < again; ++turn)
              move(room.dst + i * bytes, room.src + i * bytes, bytes);
        });
      },
      turns, least_ns);
  return static_cast<double>(bytes * again * threads) / ns;
}

Rate rates_of(const Room& room, Move move, int64_t together, int threads) {
  const int64_t each = std::max<int64_t>(together / threads / page_bytes, 1) * page_bytes;
  Rate rate;
  rate.one = rate_of(room, move, each, 1);
  rate.all = threads == 1 ? rate.one : std::max(rate.one, rate_of(room, move, each, threads));
  return rate;
}

// A line to each of so many pages in turns. Pages lie a line farther apart than they are long, so that they do not compete
// for a part of the caches.
constexpr int64_t far_pitch = page_bytes + line_bytes;
void store_far_lines(char* dst, int64_t pages) {
  for (int64_t at = 0; at < page_bytes; at += line_bytes)
    for (int64_t page = 0; page < pages; ++page)
      std::memset(dst + page * far_pitch + at, 1, line_bytes);
}
#if defined(__x86_64__)
__attribute__((target("avx512f"))) void stream_far_lines(char* dst, int64_t pages) {
  const __m512i value = _mm512_set1_epi8(1);
  for (int64_t at = 0; at < page_bytes; at += line_bytes)
    for (int64_t page = 0; page < pages; ++page)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + page * far_pitch + at), value);
  _mm_sfence();
}
#endif

// Nanoseconds for one line.
double ns_of_far_line(const Room& room, int64_t pages) {
  auto* move = store_far_lines;
#if defined(__x86_64__)
  if (offers(Isa::avx512)) move = stream_far_lines;
#endif
  return best_ns([&] { move(room.dst, pages); }) /
         static_cast<double>(pages * page_bytes / line_bytes);
}

double measure_store_pages(const Room& room, int64_t most) {
  const double few = ns_of_far_line(room, 256);
  int64_t pages = 256;
  while (2 * pages <= most && ns_of_far_line(room, 2 * pages) < 1.25 * few) pages *= 2;
  return static_cast<double>(pages);
}

// Rows of a page and a line are read a line each in turns; with `ahead` the next rows' lines are asked for meanwhile.
double ns_of_rows(const char* src, int64_t rows, int64_t all, bool ahead) {
  constexpr int64_t pitch = page_bytes + line_bytes;
  return best_ns(
             [&] {
               alignas(64) char near[64];
               for (int64_t first = 0; first + 2 * rows <= all; first += rows)
                 for (int64_t at = 0; at < page_bytes; at += line_bytes)
                   for (int64_t row = first; row < first + rows; ++row) {
                     if (ahead) __builtin_prefetch(src + (row + rows) * pitch + at, 0, 2);
                     std::memcpy(near, src + row * pitch + at, sizeof near);
                     asm volatile("" : : "r"(near) : "memory");
                   }
             },
             3) /
         static_cast<double>(all / rows * rows - rows);
}

void measure_rows(Machine& m, const char* src, int64_t bytes) {
  const int64_t all = bytes / (page_bytes + line_bytes) / 64 * 64;
  const double few = std::min(ns_of_rows(src, 4, all, false), ns_of_rows(src, 16, all, false));
  m.followed_rows = 16;
  for (const int64_t rows : {32, 64})
    if (std::min(ns_of_rows(src, rows, all, false), ns_of_rows(src, rows, all, true)) < 1.3 * few)
      m.followed_rows = static_cast<double>(rows);
  const bool helps = ns_of_rows(src, 16, all, true) < 0.97 * ns_of_rows(src, 16, all, false);
  m.prefetched_strip = helps ? 1 << 20 : 2048;
}

// What a region costs beyond the share of a thread. Nobody would come to an empty one.
double measure_region_ns(double guess, int threads) {
  if (threads == 1) return guess;
  constexpr int64_t rounds =
      5000;  // some 5 us: long enough to be shared, short beside a change of the clock
  const auto work = [](int64_t shares) {
    double x = 1;
    for (int64_t i = 0; i < shares * rounds; ++i) x = x * 0.5 + 1;
    [[maybe_unused]] const volatile double kept = x;
  };
  constexpr int turns = 200;  // of both: the best of few would be the longer
  const double share = best_ns([&] { work(1); }, turns);
  const auto region = [&] {
    parallel_for(threads, threads, [&](int64_t first, int64_t last) { work(last - first); });
  };
  return std::max(best_ns(region, turns) - share, 50.0);
}

void measure_caches(Machine& m, const Room& room, int threads, int64_t memory) {
  const auto l2 = static_cast<int64_t>(m.l2_bytes) / 4 * threads,
             l3 = std::max(static_cast<int64_t>(m.l3_bytes) / 6, 2 * l2);
  m.l2_load = rates_of(room, move_load, l2, threads);
  m.l2_store = rates_of(room, move_store<false>, l2, threads);
  m.l2_copy = rates_of(room, move_copy, l2, threads);
  m.l3_load = rates_of(room, move_load, 2 * l3, threads);
  m.l3_store = rates_of(room, move_store<false>, 2 * l3, threads);
  m.l3_copy = rates_of(room, move_copy, l3, threads);
  m.memory_load = rates_of(room, move_load, memory, threads);
  m.memory_store = rates_of(room, move_store<false>, memory, threads);
  m.memory_copy = rates_of(room, move_copy, memory, threads);
  m.streamed_store = rates_of(room, move_store<true>, memory, threads);
  const Rate turns = rates_of(room, move_streamed<4>, memory, threads),
             ascending = rates_of(room, move_streamed<1>, memory, threads);
  m.streamed_copy = ascending.all >= turns.all ? ascending : turns;
  m.copy_places = ascending.all >= turns.all ? 1 : 4;
  m.copy_ahead = ascending.all >= turns.all ? 1024 : 256;
}

}  // namespace

Machine measure_machine(const Machine& guess) {
  Machine m = guess;
  const int threads = available_threads();
  const int64_t memory =
      std::clamp<int64_t>(static_cast<int64_t>(m.l3_bytes) * 4, 64 << 20, 256 << 20);
  const int64_t most_pages = 4096,
                room_bytes = std::max(memory, (most_pages + 1) * (page_bytes + line_bytes));
  const Buffer dst(room_bytes), src(room_bytes);
  if (dst.get() == nullptr || src.get() == nullptr) return guess;
  const Room room{dst.get(), src.get()};
  m.threads = threads;
  measure_caches(m, room, threads, memory);
  m.store_pages = measure_store_pages(room, most_pages);
  measure_rows(m, src.get(), std::min<int64_t>(memory, 64 << 20));
  measure_kernels(m, room);
  m.region_ns = measure_region_ns(guess.region_ns, threads);
  measure_products(m, memory);
  m.origin = "measured";
  return m;
}

}  // namespace infini::cpu
