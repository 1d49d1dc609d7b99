// Measuring the arithmetic and memory limits.
#include "bench/products/gemm_limits.h"

#include <algorithm>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/limits.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/dtype.h"
#include "bench/copies/copy_limit.h"
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

// By every thread: `run` gives the multiply-adds of one.
double cpu_flops(Device& device, double (*run)()) {
  constexpr int turns = 4;
  const int threads = threads_in_use();
  const double products = run();
  const double seconds = least_seconds(
      device,
      [&] {
        cpu::parallel_for(threads, threads, [&](int64_t first, int64_t last) {
          for (int64_t i = turns * first; i < turns * last; ++i) run();
        });
      },
      0.3);
  return 2 * products * turns * threads / seconds;
}

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
  if (device.kind() != INFINI_DEVICE_CPU)
    limits.flops_per_second = device_flops(device, dtype);
  else if (dtype == INFINI_DTYPE_F64)
    limits.flops_per_second = cpu_flops(device, cpu::run_f64_tiles);
  else
    limits.flops_per_second = cpu_flops(device, cpu::run_f32_tiles);
#if defined(__x86_64__)
  if (device.kind() == INFINI_DEVICE_CPU && dtype == INFINI_DTYPE_BF16) {
    if (cpu::has_dpbf16())
      limits.flops_per_second =
          std::max(limits.flops_per_second, cpu_flops(device, cpu::run_pairs));
    if (cpu::amx_works()) limits.flops_per_second = cpu_flops(device, cpu::run_matrix_unit);
  }
#endif
  return limits;
}

}  // namespace infini::bench
