// Experiments for the costs of products: cycles and multiply-adds of a core, and lines that tiles read in short pieces of
// rows or along many rows side by side.
#include <cmath>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/limits.h"
#include "backends/cpu/machine/experiment.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64, pitch = page_bytes + line_bytes;
constexpr int64_t piece_lines = 4, side_rows = 12;  // of a tile: what it reads of B and of A

// Cycles in a nanosecond by additions that wait for each other, one each cycle; the guess where no such are known.
double measure_clock([[maybe_unused]] double guess) {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr int64_t rounds = 4000;
  constexpr int additions = 16;
  uint64_t sum = 1, step = 3;
  const double ns = best_ns(
      [&] {
        for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 16
          for (int j = 0; j < additions; ++j)
#if defined(__x86_64__)
            asm volatile("add %1, %0" : "+r"(sum) : "r"(step));
#else
            asm volatile("add %0, %0, %1" : "+r"(sum) : "r"(step));
#endif
      },
      20);
  return rounds * additions / ns;
#else
  return guess;
#endif
}

// Multiply-adds in a nanosecond.
double rate_of(double (*run)()) {
  double products = run();  // the first turn wakes the units
  const double ns = best_ns([&] { products = run(); }, 10);
  return products / ns;
}

// Whole vectors are multiplied in a cycle, or halves and doubles of one; where vectors slow the clock down, it is that
// clock that counts.
void measure_arithmetic(Machine& m) {
  const double products = rate_of(run_f32_tiles), bytes = products * sizeof(float);
  m.fma_bytes =
      std::clamp(std::exp2(std::round(std::log2(bytes / measure_clock(m.clock_ghz)))), 4.0, 256.0);
  m.clock_ghz = bytes / m.fma_bytes;
#if defined(__x86_64__)
  if (has_dpbf16()) m.pair_rate = rate_of(run_pairs) / products;
  constexpr double products_of_tiles = 16 * 16 * 32;
  if (amx_works()) m.tile_ns = products_of_tiles / rate_of(run_matrix_unit);
#endif
}

void read_line(const char* at) {
  alignas(64) char near[line_bytes];
  std::memcpy(near, at, line_bytes);
  asm volatile("" : : "r"(near) : "memory");
}

// Down the rows, a few lines of each.
void read_pieces(const char* src, int64_t rows) {
  for (int64_t at = 0; at < page_bytes; at += piece_lines * line_bytes)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < piece_lines; ++i) read_line(src + row * pitch + at + i * line_bytes);
}
// Along a few rows together.
void read_sides(const char* src, int64_t rows) {
  for (int64_t first = 0; first + side_rows <= rows; first += side_rows)
    for (int64_t at = 0; at < page_bytes; at += line_bytes)
      for (int64_t row = first; row < first + side_rows; ++row) read_line(src + row * pitch + at);
}

// Nanoseconds of a line for each thread, when all of them read.
double ns_of_line(void (*read)(const char*, int64_t), const char* src, int64_t bytes, int threads) {
  const int64_t rows = bytes / threads / pitch / side_rows * side_rows;
  return best_ns([&] {
           parallel_for(threads, threads, [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) read(src + i * rows * pitch, rows);
           });
         }) /
         static_cast<double>(rows * page_bytes / line_bytes);
}

}  // namespace

void measure_products(Machine& m, int64_t memory) {
  measure_arithmetic(m);
  const int threads = available_threads();
  const int64_t far = std::min<int64_t>(memory, 128 << 20),
                near = std::clamp(static_cast<int64_t>(m.l3_bytes) / 2, threads * side_rows * pitch,
                                  far);
  const Buffer src(far, false);
  if (src.get() == nullptr) return;
  m.near_piece_ns = ns_of_line(read_pieces, src.get(), near, threads);
  m.near_row_ns = ns_of_line(read_sides, src.get(), near, threads);
  m.far_piece_ns = ns_of_line(read_pieces, src.get(), far, threads);
  m.far_row_ns = ns_of_line(read_sides, src.get(), far, threads);
}

}  // namespace infini::cpu
