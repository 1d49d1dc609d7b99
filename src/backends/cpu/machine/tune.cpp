// Small experiments: copies of growing size, stores to more and more pages, empty parallel regions.
#include "backends/cpu/machine/tune.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/tiles/kernels.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/environment.h"

namespace infini::cpu {
namespace {

using Buffer = std::unique_ptr<char, decltype(&std::free)>;

// Touched, so that no page is missing when the clock runs.
Buffer touched(int64_t bytes) {
  Buffer buffer(static_cast<char*>(std::aligned_alloc(4096, static_cast<size_t>(bytes))),
                std::free);
  if (buffer != nullptr) std::memset(buffer.get(), 1, static_cast<size_t>(bytes));
  return buffer;
}

template <class Copy>
double seconds(Copy copy) {
  const auto start = std::chrono::steady_clock::now();
  copy();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best of a few turns: whatever disturbs makes slower, never faster.
constexpr int turns = 5;

template <class Body>
double best_seconds(Body body) {
  double best = 1e9;
  for (int turn = 0; turn < turns; ++turn) best = std::min(best, seconds(body));
  return best;
}

bool streaming_wins(char* dst, const char* src, int64_t bytes) {
  double ordinary = 1e9, streamed = 1e9;
  for (int turn = 0; turn < turns; ++turn) {
    ordinary =
        std::min(ordinary, seconds([&] { std::memcpy(dst, src, static_cast<size_t>(bytes)); }));
    streamed = std::min(streamed, seconds([&] {
                          copy_streamed(dst, src, bytes);
                          streaming_fence();
                        }));
  }
  return streamed < ordinary;
}

int64_t measure_streamed_bytes(char* dst, const char* src, int64_t most) {
  for (int64_t bytes = most / 32; bytes < most; bytes *= 2)
    if (streaming_wins(dst, src, bytes)) return bytes;
  return most;
}

constexpr int64_t page_bytes = 4096, most_pages = 4096;

// So many lines to each of so many pages in turns; nanoseconds for one line.
double ns_per_line(char* dst, const char* src, int64_t pages, int64_t lines = 1) {
  const int64_t bytes = lines * line_bytes;
  return best_seconds([&] {
           for (int64_t at = 0; at < page_bytes; at += bytes)
             for (int64_t page = 0; page < pages; ++page)
               copy_streamed(dst + page * page_bytes + at, src, bytes);
           streaming_fence();
         }) *
         1e9 / static_cast<double>(pages * page_bytes / line_bytes);
}

// The most pages, a power of two, before a store costs a quarter more.
int64_t measure_store_pages(char* dst, const char* src) {
  const double few = ns_per_line(dst, src, 256);
  int64_t pages = 256;
  while (pages < most_pages / 2 && ns_per_line(dst, src, 2 * pages) < 1.25 * few) pages *= 2;
  return pages;
}

bool measure_pairs(char* dst, const char* src) {
  return ns_per_line(dst, src, 1024, 1) > 1.4 * ns_per_line(dst, src, 1024, 2);
}

// What a region costs beyond the share of a thread. Nobody would come to an empty one.
double measure_region_ns(double guess) {
  const int threads = available_threads();
  if (threads == 1) return guess;
  constexpr int64_t rounds = 20000;  // some 20 us
  const auto work = [](int64_t shares) {
    double x = 1;
    for (int64_t i = 0; i < shares * rounds; ++i) x = x * 0.5 + 1;
    [[maybe_unused]] const volatile double kept = x;
  };
  const double share = best_seconds([&] { work(1); });
  const double region = best_seconds([&] {
    parallel_for(threads, threads, [&](int64_t first, int64_t last) { work(last - first); });
  });
  return 1e9 * std::max(region - share, 0.0);
}

// Half of L2 is read, the other half written.
double measure_bytes_per_ns(char* dst, const char* src, int64_t l2_bytes) {
  const int64_t bytes = l2_bytes / 4;
  return static_cast<double>(bytes) * 1e-9 /
         best_seconds([&] { std::memcpy(dst, src, static_cast<size_t>(bytes)); });
}

}  // namespace

Costs measure_costs(const Costs& guess) {
  Costs costs = guess;
  const int64_t most = std::max(page_bytes, guess.streamed_bytes * 8 / page_bytes * page_bytes);
  const int64_t room = std::max(most, (most_pages + 1) * page_bytes);
  const Buffer dst = touched(room), src = touched(room);
  if (dst == nullptr || src == nullptr) return guess;
  costs.streamed_bytes = measure_streamed_bytes(dst.get(), src.get(), most);
  costs.store_pages = measure_store_pages(dst.get(), src.get());
  costs.pairs = measure_pairs(dst.get(), src.get());
  costs.region_ns = measure_region_ns(guess.region_ns);
  costs.bytes_per_ns = measure_bytes_per_ns(dst.get(), src.get(), guess.l2_bytes);
  costs.measured = true;
  return costs;
}

bool tuning_wanted() {
  static const bool wanted = environment_flag("INFINI_TUNE", false);
  return wanted;
}

}  // namespace infini::cpu
