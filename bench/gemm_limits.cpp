// Measuring the arithmetic and memory limits.
#include "bench/gemm_limits.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "backends/cpu/gemm/amx/kernels.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/dtype.h"
#include "bench/copy_limit.h"
#include "bench/measure.h"
#include "ops/gemm.h"

namespace infini::bench {
namespace {

constexpr size_t copied_bytes = size_t{256} << 20;

// A limit is what the machine does when nobody disturbs it.
double least_seconds(Device& device, Body body, double seconds) {
  std::vector<Side> sides{{std::move(body)}};
  measure(device, sides, seconds);
  return *std::min_element(sides[0].samples.begin(), sides[0].samples.end());
}

template <class T>
void run_tiles(const cpu::GemmKernels<T>& kernels, int64_t count) {
  constexpr int64_t k = 128;
  constexpr int widest = 16 * cpu::most_tile_vectors;
  alignas(64) static thread_local T a[k * cpu::most_tile_rows], b[k * widest],
      c[cpu::most_tile_rows * widest];
  const int cols = kernels.tile_vectors * kernels.lanes;
  const cpu::TileCall<T> call{.k = k,
                              .a = a,
                              .a_row = 0,
                              .a_col = 0,
                              .b = b,
                              .b_row = cols,
                              .ahead = reinterpret_cast<const char*>(b),
                              .ahead_step = 0,
                              .c = c,
                              .c_row = cols,
                              .cols = cols,
                              .alpha = 1,
                              .beta = 0};
  for (int64_t i = 0; i < count; ++i)
    kernels.tile[1][true][kernels.tile_vectors - 1][kernels.tile_rows - 1](call);
}

template <class T>
double cpu_flops(Device& device, const cpu::GemmKernels<T>& kernels) {
  constexpr int64_t tiles = 2000;
  const int threads = threads_in_use();
  const double seconds = least_seconds(
      device,
      [&] {
        cpu::parallel_for(threads, threads, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) run_tiles(kernels, tiles);
        });
      },
      0.3);
  return 2.0 * 128 * kernels.tile_rows * kernels.tile_vectors * kernels.lanes * tiles * threads /
         seconds;
}

#if defined(__x86_64__)
// The matrix unit on tiles in the first cache.
double amx_flops(Device& device) {
  using namespace cpu::amx;
  constexpr int64_t groups = 8, products = 2000;
  const int threads = threads_in_use();
  const auto run = [&] {
    alignas(64) static thread_local uint16_t a[2 * groups * tile_elements],
        b[2 * panel_elements(groups)];
    alignas(64) static thread_local float sums[block_elements];
    constexpr int64_t tile_bytes = 2 * tile_elements;
    const Strips strips{reinterpret_cast<const char*>(a), 2 * group, tile_bytes,
                        groups * tile_bytes};
    configure();
    for (int64_t i = 0; i < products; ++i) multiply({strips, b, groups, true, true, false, sums});
    release();
  };
  const double seconds = least_seconds(
      device,
      [&] {
        cpu::parallel_for(threads, threads, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) run();
        });
      },
      0.3);
  return 2.0 * 4 * side * side * groups * group * products * threads / seconds;
}

// Products of pairs (AVX512-BF16) between registers: 32 multiply-adds an instruction, as many sums as hide its latency.
constexpr int64_t pair_rounds = 20000;
constexpr int pair_sums = 16;
__attribute__((target("avx512f,avx512bf16"))) void multiply_pairs() {
  __m512 sums[pair_sums] = {};
  for (auto& sum : sums) asm volatile("" : "+v"(sum));  // not known to be the same
  __m512bh pairs = {};
  for (int64_t i = 0; i < pair_rounds; ++i) {
#pragma GCC unroll 16
    for (auto& sum : sums) sum = _mm512_dpbf16_ps(sum, pairs, pairs);
    asm volatile("" : "+v"(pairs));  // nor this
  }
  for (auto& sum : sums) asm volatile("" ::"v"(sum));
}

double pair_flops(Device& device) {
  const int threads = threads_in_use();
  const double seconds = least_seconds(
      device,
      [&] {
        cpu::parallel_for(threads, threads, [&](int64_t first, int64_t last) {
          for (int64_t i = first; i < last; ++i) multiply_pairs();
        });
      },
      0.3);
  return 2.0 * 32 * pair_sums * pair_rounds * threads / seconds;
}
#endif

double device_flops(Device& device, infiniDtype_t dtype) {
  const size_t extent = dtype_bytes(dtype) > 2 ? 4096 : 8192, shape[] = {extent, extent};
  const Layout square = make_layout(dtype, 2, shape, nullptr);
  const Gemm op(device, square, square, square);
  const size_t bytes = extent * extent * static_cast<size_t>(dtype_bytes(dtype));
  const Memory c(device, bytes), a(device, bytes), b(device, bytes),
      workspace(device, op.workspace_bytes() + 1);
  const double seconds = least_seconds(
      device,
      [&] {
        op.run(workspace.get(), op.workspace_bytes(), c.get(), a.get(), b.get(), 1, 0, nullptr);
      },
      0.1);
  const auto n = static_cast<double>(extent);
  return 2 * n * n * n / seconds;
}

// What a product that streams its weights could reach: reading on the CPU, copying on accelerators.
double memory_speed(Device& device) {
  const Memory to(device, copied_bytes), from(device, copied_bytes);
  if (device.kind() == INFINI_DEVICE_CPU)
    return copied_bytes /
           least_seconds(
               device, [&] { read_all(from.get(), copied_bytes, threads_in_use()); }, 0.3);
  const double seconds = least_seconds(
      device,
      [&] { device.copy_async(to.get(), from.get(), copied_bytes, INFINIRT_MEMCPY_D2D, nullptr); },
      0.3);
  return 2.0 * copied_bytes / seconds;
}

}  // namespace

GemmLimits measure_gemm_limits(Device& device, infiniDtype_t dtype) {
  GemmLimits limits;
  limits.bytes_per_second = memory_speed(device);
  const auto& tables = cpu::gemm_tables(cpu::isa());
  if (device.kind() != INFINI_DEVICE_CPU)
    limits.flops_per_second = device_flops(device, dtype);
  else if (dtype == INFINI_DTYPE_F64)
    limits.flops_per_second = cpu_flops(device, tables.f64);
  else
    limits.flops_per_second = cpu_flops(device, tables.f32);
#if defined(__x86_64__)
  if (device.kind() == INFINI_DEVICE_CPU && dtype == INFINI_DTYPE_BF16) {
    if (cpu::has_dpbf16())
      limits.flops_per_second = std::max(limits.flops_per_second, pair_flops(device));
    if (cpu::amx_works()) limits.flops_per_second = amx_flops(device);
  }
#endif
  return limits;
}

}  // namespace infini::bench
